-- Page tokens have at most 8,192 characters now. Sweeps and bookmarks that hold longer ones fill the memory of
-- the process that loads them. An open sweep begins again at its first page. Applied rows stay.
UPDATE "sweeps" SET "next_page" = NULL, "pages" = 0, "items" = 0, "rejected" = 0, "without_id" = 0
WHERE "state" IN ('running', 'paused') AND (length("next_page") > 8192 OR "id" IN (
  SELECT "sweep_id" FROM "sweep_pages" WHERE length("token") > 8192));

DELETE FROM "rejects" WHERE "sweep_id" IN (
  SELECT "id" FROM "sweeps" WHERE "state" IN ('running', 'paused') AND "pages" = 0);

DELETE FROM "sweep_pages" WHERE "sweep_id" IN (
  SELECT "id" FROM "sweeps" WHERE "state" IN ('running', 'paused') AND "pages" = 0);

-- Nothing reads the tokens of a sweep that has ended.
UPDATE "sweep_pages" SET "token" = NULL WHERE length("token") > 8192;

UPDATE "sweeps" SET "next_page" = NULL WHERE length("next_page") > 8192;

-- Without bookmarks the list is read whole.
DELETE FROM "bookmark_lists" WHERE "inbox_id" IN (
  SELECT "inbox_id" FROM "bookmarks" WHERE length("token") > 8192);

DELETE FROM "bookmarks" WHERE "inbox_id" NOT IN (SELECT "inbox_id" FROM "bookmark_lists");

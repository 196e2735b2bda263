-- AlterTable
ALTER TABLE "inboxes" ADD COLUMN     "known_since" TIMESTAMPTZ(3);

-- When the first complete sweep of its conversations ended, as far as `sweeps` still tell.
UPDATE "inboxes" SET "known_since" = (
  SELECT min("finished_at") FROM "sweeps"
  WHERE "list" = 'conversations' AND "inbox_id" = "inboxes"."id" AND "state" = 'complete'
);

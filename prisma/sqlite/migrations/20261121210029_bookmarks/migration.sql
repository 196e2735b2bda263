-- CreateTable
CREATE TABLE "bookmarks" (
    "inbox_id" TEXT NOT NULL,
    "after_id" TEXT NOT NULL,
    "token" TEXT,
    "last_id" TEXT,
    "item_ids" JSONB NOT NULL,
    "read_at" DATETIME NOT NULL,
    "kinds" JSONB NOT NULL,

    PRIMARY KEY ("inbox_id", "after_id")
);

-- CreateTable
CREATE TABLE "bookmark_lists" (
    "inbox_id" TEXT NOT NULL PRIMARY KEY,
    "direction" TEXT NOT NULL,
    "baseline_at" DATETIME NOT NULL,
    "refused" INTEGER NOT NULL DEFAULT 0,
    "mistaken" INTEGER NOT NULL DEFAULT 0,
    "lost_at" DATETIME,
    "lost_cause" TEXT
);

-- CreateTable
CREATE TABLE "rates" (
    "name" TEXT NOT NULL PRIMARY KEY,
    "events" REAL NOT NULL,
    "hours" REAL NOT NULL,
    "updated_at" DATETIME NOT NULL
);

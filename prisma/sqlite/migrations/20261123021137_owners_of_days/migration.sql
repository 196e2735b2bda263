-- AlterTable
ALTER TABLE "counted_days" ADD COLUMN "is_partial" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "day_assignees" (
    "day" TEXT NOT NULL,
    "inbox_id" TEXT NOT NULL,
    "assignee_id" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "difference" INTEGER NOT NULL,

    PRIMARY KEY ("day", "inbox_id", "assignee_id", "status")
);

-- CreateTable
CREATE TABLE "day_turns" (
    "day" TEXT NOT NULL,
    "inbox_id" TEXT NOT NULL,
    "assignee_id" TEXT NOT NULL,
    "old_status" TEXT NOT NULL,
    "new_status" TEXT NOT NULL,
    "turns" INTEGER NOT NULL,

    PRIMARY KEY ("day", "inbox_id", "assignee_id", "old_status", "new_status")
);

-- CreateTable
CREATE TABLE "day_tags" (
    "day" TEXT NOT NULL,
    "inbox_id" TEXT NOT NULL,
    "tag_id" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "difference" INTEGER NOT NULL,

    PRIMARY KEY ("day", "inbox_id", "tag_id", "status")
);

-- CreateTable
CREATE TABLE "day_taggings" (
    "day" TEXT NOT NULL,
    "inbox_id" TEXT NOT NULL,
    "tag_id" TEXT NOT NULL,
    "edge" TEXT NOT NULL,
    "taggings" INTEGER NOT NULL,

    PRIMARY KEY ("day", "inbox_id", "tag_id", "edge")
);

-- CreateIndex
CREATE INDEX "assignee_spans_from_at_idx" ON "assignee_spans"("from_at");

-- CreateIndex
CREATE INDEX "assignee_spans_to_at_idx" ON "assignee_spans"("to_at");

-- CreateIndex
CREATE INDEX "tag_spans_from_at_idx" ON "tag_spans"("from_at");

-- CreateIndex
CREATE INDEX "tag_spans_to_at_idx" ON "tag_spans"("to_at");

-- The sums of these days are not complete.
DELETE FROM "counted_days";

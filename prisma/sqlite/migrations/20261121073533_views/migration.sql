-- DropIndex
DROP INDEX "conversations_inbox_id_status_idx";

-- AlterTable
ALTER TABLE "schedules" ADD COLUMN "due_before" DATETIME;

-- CreateTable
CREATE TABLE "settings" (
    "name" TEXT NOT NULL PRIMARY KEY,
    "value" TEXT NOT NULL
);

-- CreateTable
CREATE TABLE "report_days" (
    "day" TEXT NOT NULL PRIMARY KEY,
    "starts_at" DATETIME NOT NULL,
    "ends_at" DATETIME NOT NULL
);

-- CreateIndex
CREATE INDEX "report_days_starts_at_ends_at_day_idx" ON "report_days"("starts_at", "ends_at", "day");

-- CreateIndex
CREATE INDEX "conversations_inbox_id_status_deleted_at_assignee_id_id_idx" ON "conversations"("inbox_id", "status", "deleted_at", "assignee_id", "id");

-- DropIndex
DROP INDEX "conversations_inbox_id_status_idx";

-- AlterTable
ALTER TABLE "schedules" ADD COLUMN "due_before" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "settings" (
    "name" TEXT NOT NULL,
    "value" TEXT NOT NULL,

    CONSTRAINT "settings_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "report_days" (
    "day" TEXT NOT NULL,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "report_days_pkey" PRIMARY KEY ("day")
);

-- CreateIndex
CREATE INDEX "report_days_starts_at_ends_at_day_idx" ON "report_days"("starts_at", "ends_at", "day");

-- CreateIndex
CREATE INDEX "conversations_inbox_id_status_deleted_at_assignee_id_id_idx" ON "conversations"("inbox_id", "status", "deleted_at", "assignee_id", "id");

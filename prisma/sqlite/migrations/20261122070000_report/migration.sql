-- CreateTable
CREATE TABLE "report_offsets" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "starts_at" DATETIME NOT NULL,
    "ends_at" DATETIME NOT NULL,
    "offset_seconds" INTEGER NOT NULL
);

-- CreateTable
CREATE TABLE "office_hours" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "starts_at" DATETIME NOT NULL,
    "ends_at" DATETIME NOT NULL,
    "before_seconds" INTEGER NOT NULL,
    "after_seconds" INTEGER NOT NULL
);

-- CreateIndex
CREATE INDEX "office_hours_starts_at_ends_at_before_seconds_after_seconds_idx" ON "office_hours"("starts_at", "ends_at", "before_seconds", "after_seconds");

-- CreateIndex
CREATE INDEX "assignee_spans_to_at_from_at_assignee_id_idx" ON "assignee_spans"("to_at", "from_at", "assignee_id");

-- CreateIndex
CREATE INDEX "status_spans_to_at_from_at_status_idx" ON "status_spans"("to_at", "from_at", "status");

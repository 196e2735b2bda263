-- DropIndex
DROP INDEX "assignee_spans_to_at_from_at_assignee_id_idx";

-- DropIndex
DROP INDEX "assignee_spans_inbox_id_to_at_from_at_assignee_id_idx";

-- DropIndex
DROP INDEX "status_spans_to_at_from_at_status_idx";

-- DropIndex
DROP INDEX "status_spans_inbox_id_to_at_from_at_status_idx";

-- DropIndex
DROP INDEX "tag_spans_inbox_id_to_at_from_at_tag_id_idx";

-- CreateIndex
CREATE INDEX "assignee_spans_inbox_id_assignee_id_from_at_to_at_idx" ON "assignee_spans"("inbox_id", "assignee_id", "from_at", "to_at");

-- CreateIndex
CREATE INDEX "assignee_spans_assignee_id_from_at_to_at_idx" ON "assignee_spans"("assignee_id", "from_at", "to_at");

-- CreateIndex
CREATE INDEX "status_spans_inbox_id_status_from_at_to_at_idx" ON "status_spans"("inbox_id", "status", "from_at", "to_at");

-- CreateIndex
CREATE INDEX "status_spans_status_from_at_to_at_idx" ON "status_spans"("status", "from_at", "to_at");

-- CreateIndex
CREATE INDEX "status_spans_inbox_id_status_to_at_idx" ON "status_spans"("inbox_id", "status", "to_at");

-- CreateIndex
CREATE INDEX "tag_spans_inbox_id_tag_id_from_at_to_at_idx" ON "tag_spans"("inbox_id", "tag_id", "from_at", "to_at");

-- Without statistics SQLite would not skip from one value to the next.
ANALYZE "status_spans";
ANALYZE "assignee_spans";
ANALYZE "tag_spans";

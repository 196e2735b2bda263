-- AlterTable
ALTER TABLE "status_spans" ADD COLUMN "status_before" TEXT;

-- The status of the interval that ended when this one began. SQLite would read the index on the instant.
UPDATE "status_spans" SET "status_before" = ended."status"
FROM "status_spans" AS ended INDEXED BY "status_spans_inbox_id_conversation_id_idx"
WHERE ended."inbox_id" = "status_spans"."inbox_id"
  AND ended."conversation_id" = "status_spans"."conversation_id"
  AND ended."to_at" = "status_spans"."from_at" AND ended."from_at" < ended."to_at"
  AND ended."status" <> "status_spans"."status";

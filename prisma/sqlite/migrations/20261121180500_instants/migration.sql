-- Every stored instant ends in `+00:00` instead of `Z`, as in the queries of Prisma's adapter. SQLite
-- compares instants as text. The instants stay the same.

-- It is faster to create the large indexes again than to update them row by row. The program creates those of
-- the views again after the migrations. A dropped index loses its statistics: every index of `changes` is
-- dropped, because the planner would prefer one that still had them.
DROP INDEX IF EXISTS "changes_life";
DROP INDEX IF EXISTS "changes_lives";
DROP INDEX IF EXISTS "changes_moves";
DROP INDEX IF EXISTS "changes_days";
DROP INDEX "changes_observed_at_idx";
DROP INDEX "changes_list_inbox_id_item_id_idx";

UPDATE "inboxes" SET
    "created_at" = replace("created_at", 'Z', '+00:00'),
    "updated_at" = replace("updated_at", 'Z', '+00:00'),
    "first_seen_at" = replace("first_seen_at", 'Z', '+00:00'),
    "changed_at" = replace("changed_at", 'Z', '+00:00'),
    "missing_since" = replace("missing_since", 'Z', '+00:00'),
    "deleted_at" = replace("deleted_at", 'Z', '+00:00');

UPDATE "inbox_users" SET
    "first_seen_at" = replace("first_seen_at", 'Z', '+00:00'),
    "changed_at" = replace("changed_at", 'Z', '+00:00'),
    "missing_since" = replace("missing_since", 'Z', '+00:00'),
    "deleted_at" = replace("deleted_at", 'Z', '+00:00');

UPDATE "inbox_tags" SET
    "created_at" = replace("created_at", 'Z', '+00:00'),
    "first_seen_at" = replace("first_seen_at", 'Z', '+00:00'),
    "changed_at" = replace("changed_at", 'Z', '+00:00'),
    "missing_since" = replace("missing_since", 'Z', '+00:00'),
    "deleted_at" = replace("deleted_at", 'Z', '+00:00');

UPDATE "conversations" SET
    "thread_started_at" = replace("thread_started_at", 'Z', '+00:00'),
    "first_seen_at" = replace("first_seen_at", 'Z', '+00:00'),
    "changed_at" = replace("changed_at", 'Z', '+00:00'),
    "missing_since" = replace("missing_since", 'Z', '+00:00');

-- By itself: it is in two indexes, and few rows have it.
UPDATE "conversations" SET "deleted_at" = replace("deleted_at", 'Z', '+00:00')
WHERE "deleted_at" IS NOT NULL;

UPDATE "changes" SET
    "observed_at" = replace("observed_at", 'Z', '+00:00'),
    "previously_seen_at" = replace("previously_seen_at", 'Z', '+00:00');

CREATE INDEX "changes_list_inbox_id_item_id_idx" ON "changes"("list", "inbox_id", "item_id");
CREATE INDEX "changes_observed_at_idx" ON "changes"("observed_at");

UPDATE "sweeps" SET
    "started_at" = replace("started_at", 'Z', '+00:00'),
    "heartbeat_at" = replace("heartbeat_at", 'Z', '+00:00'),
    "finished_at" = replace("finished_at", 'Z', '+00:00');

UPDATE "sweep_pages" SET
    "fetched_at" = replace("fetched_at", 'Z', '+00:00');

UPDATE "requests" SET
    "sent_at" = replace("sent_at", 'Z', '+00:00');

UPDATE "rejects" SET
    "seen_at" = replace("seen_at", 'Z', '+00:00');

UPDATE "leases" SET
    "acquired_at" = replace("acquired_at", 'Z', '+00:00'),
    "heartbeat_at" = replace("heartbeat_at", 'Z', '+00:00'),
    "expires_at" = replace("expires_at", 'Z', '+00:00');

UPDATE "sync_requests" SET
    "requested_at" = replace("requested_at", 'Z', '+00:00'),
    "started_at" = replace("started_at", 'Z', '+00:00'),
    "heartbeat_at" = replace("heartbeat_at", 'Z', '+00:00'),
    "finished_at" = replace("finished_at", 'Z', '+00:00');

UPDATE "schedules" SET
    "next_at" = replace("next_at", 'Z', '+00:00'),
    "due_since" = replace("due_since", 'Z', '+00:00'),
    "due_before" = replace("due_before", 'Z', '+00:00');

UPDATE "report_days" SET
    "starts_at" = replace("starts_at", 'Z', '+00:00'),
    "ends_at" = replace("ends_at", 'Z', '+00:00');

UPDATE "webhooks" SET
    "retry_at" = replace("retry_at", 'Z', '+00:00'),
    "updated_at" = replace("updated_at", 'Z', '+00:00');

UPDATE "gate_state" SET
    "paused_at" = replace("paused_at", 'Z', '+00:00'),
    "paused_until" = replace("paused_until", 'Z', '+00:00'),
    "refused_at" = replace("refused_at", 'Z', '+00:00'),
    "clock_boot_at" = replace("clock_boot_at", 'Z', '+00:00'),
    "outage_since" = replace("outage_since", 'Z', '+00:00'),
    "outage_until" = replace("outage_until", 'Z', '+00:00');

-- CreateTable
CREATE TABLE "inboxes" (
    "id" TEXT NOT NULL,
    "display_name" TEXT,
    "channel_type" TEXT,
    "email" TEXT,
    "inbox_type" TEXT,
    "is_authorised" BOOLEAN,
    "source_user_id" TEXT,
    "source_user_email" TEXT,
    "created_at" TIMESTAMPTZ(3),
    "updated_at" TIMESTAMPTZ(3),
    "raw" JSONB NOT NULL,
    "content_hash" TEXT NOT NULL,
    "first_seen_at" TIMESTAMPTZ(3) NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL,
    "missing_since" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "inboxes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "inbox_users" (
    "inbox_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "first_name" TEXT,
    "last_name" TEXT,
    "email" TEXT,
    "phone_number" TEXT,
    "is_joined" BOOLEAN,
    "raw" JSONB NOT NULL,
    "content_hash" TEXT NOT NULL,
    "first_seen_at" TIMESTAMPTZ(3) NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL,
    "missing_since" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "inbox_users_pkey" PRIMARY KEY ("inbox_id","id")
);

-- CreateTable
CREATE TABLE "inbox_tags" (
    "inbox_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "name" TEXT,
    "color_code" TEXT,
    "type" TEXT,
    "created_at" TIMESTAMPTZ(3),
    "raw" JSONB NOT NULL,
    "content_hash" TEXT NOT NULL,
    "first_seen_at" TIMESTAMPTZ(3) NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL,
    "missing_since" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "inbox_tags_pkey" PRIMARY KEY ("inbox_id","id")
);

-- CreateTable
CREATE TABLE "conversations" (
    "inbox_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "status" TEXT,
    "assignee_type" TEXT,
    "assignee_id" TEXT,
    "thread_id" TEXT,
    "thread_started_at" TIMESTAMPTZ(3),
    "permalink" TEXT,
    "raw" JSONB NOT NULL,
    "content_hash" TEXT NOT NULL,
    "first_seen_at" TIMESTAMPTZ(3) NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL,
    "missing_since" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "conversations_pkey" PRIMARY KEY ("inbox_id","id")
);

-- CreateTable
CREATE TABLE "conversation_tags" (
    "inbox_id" TEXT NOT NULL,
    "conversation_id" TEXT NOT NULL,
    "tag_id" TEXT NOT NULL,

    CONSTRAINT "conversation_tags_pkey" PRIMARY KEY ("inbox_id","conversation_id","tag_id")
);

-- CreateTable
CREATE TABLE "changes" (
    "id" SERIAL NOT NULL,
    "observed_at" TIMESTAMPTZ(3) NOT NULL,
    "previously_seen_at" TIMESTAMPTZ(3),
    "list" TEXT NOT NULL,
    "inbox_id" TEXT,
    "item_id" TEXT NOT NULL,
    "field" TEXT NOT NULL,
    "old_value" TEXT,
    "new_value" TEXT,
    "sweep_id" INTEGER,

    CONSTRAINT "changes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sweeps" (
    "id" SERIAL NOT NULL,
    "list" TEXT NOT NULL,
    "inbox_id" TEXT,
    "reason" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "next_page" TEXT,
    "pages" INTEGER NOT NULL DEFAULT 0,
    "items" INTEGER NOT NULL DEFAULT 0,
    "requests" INTEGER NOT NULL DEFAULT 0,
    "inserted" INTEGER NOT NULL DEFAULT 0,
    "changed" INTEGER NOT NULL DEFAULT 0,
    "deleted" INTEGER NOT NULL DEFAULT 0,
    "rejected" INTEGER NOT NULL DEFAULT 0,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "heartbeat_at" TIMESTAMPTZ(3) NOT NULL,
    "finished_at" TIMESTAMPTZ(3),
    "error" TEXT,

    CONSTRAINT "sweeps_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sweep_pages" (
    "sweep_id" INTEGER NOT NULL,
    "page_no" INTEGER NOT NULL,
    "token" TEXT,
    "item_ids" JSONB NOT NULL,
    "fetched_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sweep_pages_pkey" PRIMARY KEY ("sweep_id","page_no")
);

-- CreateTable
CREATE TABLE "requests" (
    "id" SERIAL NOT NULL,
    "sent_at" TIMESTAMPTZ(3) NOT NULL,
    "method" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "list" TEXT,
    "inbox_id" TEXT,
    "reason" TEXT NOT NULL,
    "status" INTEGER,
    "duration_ms" INTEGER,
    "items" INTEGER,
    "changed" INTEGER,
    "error" TEXT,

    CONSTRAINT "requests_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "rejects" (
    "id" SERIAL NOT NULL,
    "sweep_id" INTEGER NOT NULL,
    "list" TEXT NOT NULL,
    "inbox_id" TEXT,
    "reason" TEXT NOT NULL,
    "raw" JSONB NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "rejects_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "leases" (
    "name" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "command" TEXT NOT NULL,
    "acquired_at" TIMESTAMPTZ(3) NOT NULL,
    "heartbeat_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "leases_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "sync_requests" (
    "id" SERIAL NOT NULL,
    "kind" TEXT NOT NULL,
    "lists" JSONB NOT NULL,
    "inbox_id" TEXT,
    "accept_deletes" BOOLEAN NOT NULL DEFAULT false,
    "ordered" BOOLEAN NOT NULL DEFAULT false,
    "state" TEXT NOT NULL,
    "requested_by" TEXT NOT NULL,
    "requested_at" TIMESTAMPTZ(3) NOT NULL,
    "started_at" TIMESTAMPTZ(3),
    "heartbeat_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),
    "error" TEXT,
    "report" JSONB,

    CONSTRAINT "sync_requests_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "schedules" (
    "list" TEXT NOT NULL,
    "expression" TEXT NOT NULL,
    "timezone" TEXT NOT NULL,
    "next_at" TIMESTAMPTZ(3) NOT NULL,
    "due_since" TIMESTAMPTZ(3),

    CONSTRAINT "schedules_pkey" PRIMARY KEY ("list")
);

-- CreateTable
CREATE TABLE "gate_state" (
    "id" INTEGER NOT NULL,
    "strikes" INTEGER NOT NULL DEFAULT 0,
    "paused_at" TIMESTAMPTZ(3),
    "paused_until" TIMESTAMPTZ(3),
    "cause" TEXT,
    "refused_key" TEXT,
    "refused_at" TIMESTAMPTZ(3),
    "clock_host" TEXT,
    "clock_boot" TEXT,
    "clock_boot_at" TIMESTAMPTZ(3),
    "outage_cause" TEXT,
    "outage_since" TIMESTAMPTZ(3),
    "outage_until" TIMESTAMPTZ(3),

    CONSTRAINT "gate_state_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "conversations_inbox_id_status_idx" ON "conversations"("inbox_id", "status");

-- CreateIndex
CREATE INDEX "conversation_tags_inbox_id_tag_id_idx" ON "conversation_tags"("inbox_id", "tag_id");

-- CreateIndex
CREATE INDEX "changes_list_inbox_id_item_id_idx" ON "changes"("list", "inbox_id", "item_id");

-- CreateIndex
CREATE INDEX "changes_observed_at_idx" ON "changes"("observed_at");

-- CreateIndex
CREATE INDEX "sweeps_list_inbox_id_state_idx" ON "sweeps"("list", "inbox_id", "state");

-- CreateIndex
CREATE INDEX "requests_sent_at_status_duration_ms_idx" ON "requests"("sent_at", "status", "duration_ms");

-- CreateIndex
CREATE INDEX "rejects_list_inbox_id_idx" ON "rejects"("list", "inbox_id");

-- CreateIndex
CREATE INDEX "sync_requests_state_idx" ON "sync_requests"("state");

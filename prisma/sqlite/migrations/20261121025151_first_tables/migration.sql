-- CreateTable
CREATE TABLE "inboxes" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "display_name" TEXT,
    "channel_type" TEXT,
    "email" TEXT,
    "inbox_type" TEXT,
    "is_authorised" BOOLEAN,
    "source_user_id" TEXT,
    "source_user_email" TEXT,
    "created_at" DATETIME,
    "updated_at" DATETIME,
    "raw" JSONB NOT NULL,
    "content_hash" TEXT NOT NULL,
    "first_seen_at" DATETIME NOT NULL,
    "changed_at" DATETIME NOT NULL,
    "missing_since" DATETIME,
    "deleted_at" DATETIME
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
    "first_seen_at" DATETIME NOT NULL,
    "changed_at" DATETIME NOT NULL,
    "missing_since" DATETIME,
    "deleted_at" DATETIME,

    PRIMARY KEY ("inbox_id", "id")
);

-- CreateTable
CREATE TABLE "inbox_tags" (
    "inbox_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "name" TEXT,
    "color_code" TEXT,
    "type" TEXT,
    "created_at" DATETIME,
    "raw" JSONB NOT NULL,
    "content_hash" TEXT NOT NULL,
    "first_seen_at" DATETIME NOT NULL,
    "changed_at" DATETIME NOT NULL,
    "missing_since" DATETIME,
    "deleted_at" DATETIME,

    PRIMARY KEY ("inbox_id", "id")
);

-- CreateTable
CREATE TABLE "conversations" (
    "inbox_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "status" TEXT,
    "assignee_type" TEXT,
    "assignee_id" TEXT,
    "thread_id" TEXT,
    "thread_started_at" DATETIME,
    "permalink" TEXT,
    "raw" JSONB NOT NULL,
    "content_hash" TEXT NOT NULL,
    "first_seen_at" DATETIME NOT NULL,
    "changed_at" DATETIME NOT NULL,
    "missing_since" DATETIME,
    "deleted_at" DATETIME,

    PRIMARY KEY ("inbox_id", "id")
);

-- CreateTable
CREATE TABLE "conversation_tags" (
    "inbox_id" TEXT NOT NULL,
    "conversation_id" TEXT NOT NULL,
    "tag_id" TEXT NOT NULL,

    PRIMARY KEY ("inbox_id", "conversation_id", "tag_id")
);

-- CreateTable
CREATE TABLE "changes" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "observed_at" DATETIME NOT NULL,
    "previously_seen_at" DATETIME,
    "list" TEXT NOT NULL,
    "inbox_id" TEXT,
    "item_id" TEXT NOT NULL,
    "field" TEXT NOT NULL,
    "old_value" TEXT,
    "new_value" TEXT,
    "sweep_id" INTEGER
);

-- CreateTable
CREATE TABLE "sweeps" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
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
    "started_at" DATETIME NOT NULL,
    "heartbeat_at" DATETIME NOT NULL,
    "finished_at" DATETIME,
    "error" TEXT
);

-- CreateTable
CREATE TABLE "sweep_pages" (
    "sweep_id" INTEGER NOT NULL,
    "page_no" INTEGER NOT NULL,
    "token" TEXT,
    "item_ids" JSONB NOT NULL,
    "fetched_at" DATETIME NOT NULL,

    PRIMARY KEY ("sweep_id", "page_no")
);

-- CreateTable
CREATE TABLE "requests" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "sent_at" DATETIME NOT NULL,
    "method" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "list" TEXT,
    "inbox_id" TEXT,
    "reason" TEXT NOT NULL,
    "status" INTEGER,
    "duration_ms" INTEGER,
    "items" INTEGER,
    "changed" INTEGER,
    "error" TEXT
);

-- CreateTable
CREATE TABLE "rejects" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "sweep_id" INTEGER NOT NULL,
    "list" TEXT NOT NULL,
    "inbox_id" TEXT,
    "reason" TEXT NOT NULL,
    "raw" JSONB NOT NULL,
    "seen_at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "leases" (
    "name" TEXT NOT NULL PRIMARY KEY,
    "holder" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "command" TEXT NOT NULL,
    "acquired_at" DATETIME NOT NULL,
    "heartbeat_at" DATETIME NOT NULL,
    "expires_at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "sync_requests" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "kind" TEXT NOT NULL,
    "lists" JSONB NOT NULL,
    "inbox_id" TEXT,
    "accept_deletes" BOOLEAN NOT NULL DEFAULT false,
    "state" TEXT NOT NULL,
    "requested_by" TEXT NOT NULL,
    "requested_at" DATETIME NOT NULL,
    "started_at" DATETIME,
    "finished_at" DATETIME,
    "error" TEXT
);

-- CreateTable
CREATE TABLE "gate_state" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "strikes" INTEGER NOT NULL DEFAULT 0,
    "paused_at" DATETIME,
    "paused_until" DATETIME,
    "cause" TEXT,
    "refused_key" TEXT,
    "refused_at" DATETIME,
    "clock_host" TEXT,
    "clock_boot" TEXT,
    "clock_boot_at" DATETIME
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

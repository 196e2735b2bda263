-- AlterTable
ALTER TABLE "gate_state" ADD COLUMN "outage_cause" TEXT;
ALTER TABLE "gate_state" ADD COLUMN "outage_since" DATETIME;
ALTER TABLE "gate_state" ADD COLUMN "outage_until" DATETIME;

-- CreateTable
CREATE TABLE "schedules" (
    "list" TEXT NOT NULL PRIMARY KEY,
    "expression" TEXT NOT NULL,
    "timezone" TEXT NOT NULL,
    "next_at" DATETIME NOT NULL,
    "due_since" DATETIME
);

-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_sync_requests" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "kind" TEXT NOT NULL,
    "lists" JSONB NOT NULL,
    "inbox_id" TEXT,
    "accept_deletes" BOOLEAN NOT NULL DEFAULT false,
    "ordered" BOOLEAN NOT NULL DEFAULT false,
    "state" TEXT NOT NULL,
    "requested_by" TEXT NOT NULL,
    "requested_at" DATETIME NOT NULL,
    "started_at" DATETIME,
    "heartbeat_at" DATETIME,
    "finished_at" DATETIME,
    "error" TEXT,
    "report" JSONB
);
INSERT INTO "new_sync_requests" ("accept_deletes", "error", "finished_at", "id", "inbox_id", "kind", "lists", "requested_at", "requested_by", "started_at", "state") SELECT "accept_deletes", "error", "finished_at", "id", "inbox_id", "kind", "lists", "requested_at", "requested_by", "started_at", "state" FROM "sync_requests";
DROP TABLE "sync_requests";
ALTER TABLE "new_sync_requests" RENAME TO "sync_requests";
CREATE INDEX "sync_requests_state_idx" ON "sync_requests"("state");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;

-- AlterTable
ALTER TABLE "gate_state" ADD COLUMN "account_access" TEXT;
ALTER TABLE "gate_state" ADD COLUMN "account_cause" TEXT;
ALTER TABLE "gate_state" ADD COLUMN "account_since" DATETIME;
ALTER TABLE "gate_state" ADD COLUMN "account_until" DATETIME;

-- AlterTable
ALTER TABLE "sync_requests" ADD COLUMN "accept_account" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "gate_state" ADD COLUMN     "account_access" TEXT,
ADD COLUMN     "account_cause" TEXT,
ADD COLUMN     "account_since" TIMESTAMPTZ(3),
ADD COLUMN     "account_until" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "sync_requests" ADD COLUMN     "accept_account" BOOLEAN NOT NULL DEFAULT false;

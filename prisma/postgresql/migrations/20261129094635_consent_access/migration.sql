-- AlterTable
ALTER TABLE "sync_requests" ADD COLUMN     "accept_access" TEXT;

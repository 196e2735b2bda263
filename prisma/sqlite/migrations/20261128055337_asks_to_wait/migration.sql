-- AlterTable
ALTER TABLE "sweeps" ADD COLUMN "retry_at" DATETIME;

-- AlterTable
ALTER TABLE "rejects" ADD COLUMN "item_id" TEXT;

-- AlterTable
ALTER TABLE "sweeps" ADD COLUMN "error_code" TEXT;
ALTER TABLE "sweeps" ADD COLUMN "without_id" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "sweeps" ADD COLUMN "held" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "sweeps" ADD COLUMN "accepted" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "sweeps" ADD COLUMN     "restarts" INTEGER NOT NULL DEFAULT 0;

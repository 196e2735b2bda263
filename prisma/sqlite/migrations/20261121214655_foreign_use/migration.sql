-- AlterTable
ALTER TABLE "gate_state" ADD COLUMN "day_limit" INTEGER;
ALTER TABLE "gate_state" ADD COLUMN "day_limit_at" DATETIME;
ALTER TABLE "gate_state" ADD COLUMN "slowdown" REAL;

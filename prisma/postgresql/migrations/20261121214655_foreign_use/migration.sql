-- AlterTable
ALTER TABLE "gate_state" ADD COLUMN     "day_limit" INTEGER,
ADD COLUMN     "day_limit_at" TIMESTAMPTZ(3),
ADD COLUMN     "slowdown" DOUBLE PRECISION;

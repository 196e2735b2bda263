-- AlterTable
ALTER TABLE "gate_state" DROP COLUMN "clock_host";
ALTER TABLE "gate_state" ADD COLUMN "clock_seen_at" DATETIME;
ALTER TABLE "gate_state" ADD COLUMN "clock_off_from" DATETIME;
ALTER TABLE "gate_state" ADD COLUMN "clock_off_to" DATETIME;

-- AlterTable
ALTER TABLE "requests" ADD COLUMN "service_at" DATETIME;

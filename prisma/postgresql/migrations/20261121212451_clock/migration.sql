-- AlterTable
ALTER TABLE "gate_state" DROP COLUMN "clock_host",
ADD COLUMN     "clock_seen_at" TIMESTAMPTZ(3),
ADD COLUMN     "clock_off_from" TIMESTAMPTZ(3),
ADD COLUMN     "clock_off_to" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "requests" ADD COLUMN     "service_at" TIMESTAMPTZ(3);

-- The view `freshness` reads the slots before the latest from `schedule_slots`.
ALTER TABLE "schedules" DROP COLUMN "due_before";

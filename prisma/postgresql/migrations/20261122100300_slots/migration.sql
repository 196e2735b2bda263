-- CreateTable
CREATE TABLE "schedule_slots" (
    "list" TEXT NOT NULL,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "step_seconds" INTEGER NOT NULL,

    CONSTRAINT "schedule_slots_pkey" PRIMARY KEY ("list","starts_at")
);

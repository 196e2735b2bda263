-- CreateTable
CREATE TABLE "schedule_slots" (
    "list" TEXT NOT NULL,
    "starts_at" DATETIME NOT NULL,
    "ends_at" DATETIME NOT NULL,
    "step_seconds" INTEGER NOT NULL,

    PRIMARY KEY ("list", "starts_at")
);

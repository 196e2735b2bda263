-- CreateTable
CREATE TABLE "counted_days" (
    "day" TEXT NOT NULL PRIMARY KEY,
    "starts_at" DATETIME NOT NULL,
    "ends_at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "day_statuses" (
    "day" TEXT NOT NULL,
    "inbox_id" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "difference" INTEGER NOT NULL,

    PRIMARY KEY ("day", "inbox_id", "status")
);

-- CreateTable
CREATE TABLE "day_moves" (
    "day" TEXT NOT NULL,
    "inbox_id" TEXT NOT NULL,
    "field" TEXT NOT NULL,
    "old_value" TEXT NOT NULL,
    "new_value" TEXT NOT NULL,
    "moves" INTEGER NOT NULL,

    PRIMARY KEY ("day", "inbox_id", "field", "old_value", "new_value")
);

-- CreateIndex
CREATE INDEX "counted_days_ends_at_starts_at_idx" ON "counted_days"("ends_at", "starts_at");

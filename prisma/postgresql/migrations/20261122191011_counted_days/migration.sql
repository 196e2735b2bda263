-- CreateTable
CREATE TABLE "counted_days" (
    "day" DATE NOT NULL,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "counted_days_pkey" PRIMARY KEY ("day")
);

-- CreateTable
CREATE TABLE "day_statuses" (
    "day" DATE NOT NULL,
    "inbox_id" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "difference" INTEGER NOT NULL,

    CONSTRAINT "day_statuses_pkey" PRIMARY KEY ("day","inbox_id","status")
);

-- CreateTable
CREATE TABLE "day_moves" (
    "day" DATE NOT NULL,
    "inbox_id" TEXT NOT NULL,
    "field" TEXT NOT NULL,
    "old_value" TEXT NOT NULL,
    "new_value" TEXT NOT NULL,
    "moves" INTEGER NOT NULL,

    CONSTRAINT "day_moves_pkey" PRIMARY KEY ("day","inbox_id","field","old_value","new_value")
);

-- CreateIndex
CREATE INDEX "counted_days_ends_at_starts_at_idx" ON "counted_days"("ends_at", "starts_at");

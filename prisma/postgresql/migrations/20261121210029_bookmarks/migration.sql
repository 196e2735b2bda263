-- CreateTable
CREATE TABLE "bookmarks" (
    "inbox_id" TEXT NOT NULL,
    "after_id" TEXT NOT NULL,
    "token" TEXT,
    "last_id" TEXT,
    "item_ids" JSONB NOT NULL,
    "read_at" TIMESTAMPTZ(3) NOT NULL,
    "kinds" JSONB NOT NULL,

    CONSTRAINT "bookmarks_pkey" PRIMARY KEY ("inbox_id","after_id")
);

-- CreateTable
CREATE TABLE "bookmark_lists" (
    "inbox_id" TEXT NOT NULL,
    "direction" TEXT NOT NULL,
    "baseline_at" TIMESTAMPTZ(3) NOT NULL,
    "refused" INTEGER NOT NULL DEFAULT 0,
    "mistaken" INTEGER NOT NULL DEFAULT 0,
    "lost_at" TIMESTAMPTZ(3),
    "lost_cause" TEXT,

    CONSTRAINT "bookmark_lists_pkey" PRIMARY KEY ("inbox_id")
);

-- CreateTable
CREATE TABLE "rates" (
    "name" TEXT NOT NULL,
    "events" DOUBLE PRECISION NOT NULL,
    "hours" DOUBLE PRECISION NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "rates_pkey" PRIMARY KEY ("name")
);

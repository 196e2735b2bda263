-- CreateTable
CREATE TABLE "webhooks" (
    "target" TEXT NOT NULL PRIMARY KEY,
    "last_id" INTEGER NOT NULL,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "retry_at" DATETIME,
    "cause" TEXT,
    "updated_at" DATETIME NOT NULL
);

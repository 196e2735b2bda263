-- CreateTable
CREATE TABLE "webhooks" (
    "target" TEXT NOT NULL,
    "last_id" INTEGER NOT NULL,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "retry_at" TIMESTAMPTZ(3),
    "cause" TEXT,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhooks_pkey" PRIMARY KEY ("target")
);

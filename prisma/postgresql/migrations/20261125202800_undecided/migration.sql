-- CreateTable
CREATE TABLE "undecided" (
    "inbox_id" TEXT NOT NULL,
    "conversation_id" TEXT NOT NULL,
    "asked_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "undecided_pkey" PRIMARY KEY ("inbox_id","conversation_id")
);

-- CreateTable
CREATE TABLE "undecided" (
    "inbox_id" TEXT NOT NULL,
    "conversation_id" TEXT NOT NULL,
    "asked_at" DATETIME NOT NULL,

    PRIMARY KEY ("inbox_id", "conversation_id")
);

-- CreateTable
CREATE TABLE "unlisted" (
    "id" SERIAL NOT NULL,
    "list" TEXT NOT NULL,
    "inbox_id" TEXT,
    "item_id" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "returned_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "unlisted_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "unlisted_list_inbox_id_item_id_idx" ON "unlisted"("list", "inbox_id", "item_id");

-- CreateTable
CREATE TABLE "unlisted" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "list" TEXT NOT NULL,
    "inbox_id" TEXT,
    "item_id" TEXT NOT NULL,
    "since" DATETIME NOT NULL,
    "returned_at" DATETIME NOT NULL
);

-- CreateIndex
CREATE INDEX "unlisted_list_inbox_id_item_id_idx" ON "unlisted"("list", "inbox_id", "item_id");

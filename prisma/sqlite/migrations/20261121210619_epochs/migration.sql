-- CreateTable
CREATE TABLE "epochs" (
    "after_id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "epoch" TEXT NOT NULL,
    "begun_at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "epochs" (
    "after_id" INTEGER NOT NULL,
    "epoch" TEXT NOT NULL,
    "begun_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "epochs_pkey" PRIMARY KEY ("after_id")
);

-- AlterTable
ALTER TABLE "webhooks" ADD COLUMN     "set_aside" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "set_aside_id" INTEGER;

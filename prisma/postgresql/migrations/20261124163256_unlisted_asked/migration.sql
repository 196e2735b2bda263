-- AlterTable
ALTER TABLE "unlisted" ADD COLUMN     "asked_at" TIMESTAMPTZ(3);

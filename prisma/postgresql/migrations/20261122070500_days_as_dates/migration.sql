-- AlterTable: the index and the key of the column are rebuilt with it.
ALTER TABLE "report_days" ALTER COLUMN "day" TYPE DATE USING CAST("day" AS DATE);

-- How long answers took: how many took up to each of these bounds and longer than the one before, so that percentiles are known.
-- Column types are macros; see migrate.go.

ALTER TABLE ing_work_sum ADD COLUMN
  took_50ms {int} NOT NULL DEFAULT 0;
ALTER TABLE ing_work_sum ADD COLUMN
  took_100ms {int} NOT NULL DEFAULT 0;
ALTER TABLE ing_work_sum ADD COLUMN
  took_200ms {int} NOT NULL DEFAULT 0;
ALTER TABLE ing_work_sum ADD COLUMN
  took_500ms {int} NOT NULL DEFAULT 0;
ALTER TABLE ing_work_sum ADD COLUMN
  took_1s {int} NOT NULL DEFAULT 0;
ALTER TABLE ing_work_sum ADD COLUMN
  took_2s {int} NOT NULL DEFAULT 0;
ALTER TABLE ing_work_sum ADD COLUMN
  took_5s {int} NOT NULL DEFAULT 0;
ALTER TABLE ing_work_sum ADD COLUMN
  took_10s {int} NOT NULL DEFAULT 0;
ALTER TABLE ing_work_sum ADD COLUMN
  took_30s {int} NOT NULL DEFAULT 0;
ALTER TABLE ing_work_sum ADD COLUMN
  took_longer {int} NOT NULL DEFAULT 0;

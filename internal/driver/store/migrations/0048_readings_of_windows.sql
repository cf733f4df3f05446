-- Readings of windows that replace each other (decision 152).
-- Column types are macros; see migrate.go.

-- unit_name is the unit of the filter that the reading is of, such as 2025-03-04, with its partition; NULL: the whole list. Readings of a
-- unit are compared with those of the same records (dataset_id) for the same question (expr_id), of every operation.
-- as_of is the instant when such a reading was opened.
ALTER TABLE ing_generation ADD COLUMN
  dataset_id {int};
ALTER TABLE ing_generation ADD COLUMN
  expr_id {int};
ALTER TABLE ing_generation ADD COLUMN
  unit_name {text 320};
CREATE INDEX idx_generation_unit ON ing_generation (dataset_id, unit_name, id);

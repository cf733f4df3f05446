-- Items of one state are read in the order of their ids, page by page.
-- Column types are macros; see migrate.go.

CREATE INDEX idx_quarantine_order ON ing_quarantine (dataset_id, status_code, id);

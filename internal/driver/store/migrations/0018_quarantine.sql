-- The life of a rejected item: seen again, put back, read again, settled.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- fetch_at orders the item among the versions of its record, as that of a stored one does. judged_batch_id is the batch
-- that read the item again, or stored its record; until then the batch that rejected it stands for what it says.
ALTER TABLE ing_quarantine ADD COLUMN
  fetch_at {instant};
ALTER TABLE ing_quarantine ADD COLUMN
  last_seen_at {instant};
ALTER TABLE ing_quarantine ADD COLUMN
  seen_count {int} NOT NULL DEFAULT 1;
ALTER TABLE ing_quarantine ADD COLUMN
  attempts {int} NOT NULL DEFAULT 0;
ALTER TABLE ing_quarantine ADD COLUMN
  judged_batch_id {int};
ALTER TABLE ing_quarantine ADD COLUMN
  note {text 512};

-- Of what was rejected before nobody wrote down when it was asked for. The start of its run is not after that, so an
-- item never looks newer than it is (I3).
UPDATE ing_quarantine SET last_seen_at = created_at, fetch_at = (SELECT r.started_at FROM ing_task_run r WHERE r.id = ing_quarantine.run_id);

-- Groups are counted in the index alone.
CREATE INDEX idx_quarantine_path ON ing_quarantine (dataset_id, status_code, reason_code, path, last_seen_at);
DROP INDEX idx_quarantine_group {of ing_quarantine};
CREATE INDEX idx_quarantine_record ON ing_quarantine (dataset_id, provider_id);
CREATE INDEX idx_quarantine_judged ON ing_quarantine (judged_batch_id);

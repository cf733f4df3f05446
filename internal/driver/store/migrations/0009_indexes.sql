-- Indexes that no query uses. Each costs a plan of 100,000 slices more than half a second.

DROP INDEX idx_slice_expr {of ing_plan_slice};
DROP INDEX idx_slice_prov_status {of ing_plan_slice};

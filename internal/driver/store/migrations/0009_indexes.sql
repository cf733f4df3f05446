-- Indexes that no query uses, and two that are about leased tasks only. Each costs a plan of 100,000 slices half a second.

DROP INDEX idx_slice_expr {of ing_plan_slice};
DROP INDEX idx_slice_prov_status {of ing_plan_slice};

-- Where the database can, the tasks that nobody has leased are left out: those are nearly all.
DROP INDEX idx_task_claim {of ing_task};
CREATE INDEX idx_task_claim ON ing_task (claim_token) {set claim_token};
DROP INDEX idx_task_lease {of ing_task};
CREATE INDEX idx_task_lease ON ing_task (status_code, leased_until) {set leased_until};

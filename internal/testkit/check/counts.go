package check

// counts are queries that must find nothing.
var counts = []struct{ rule, query string }{
	{"I7: a batch of an older epoch was committed after a newer one", `SELECT COUNT(*) FROM (SELECT lease_epoch own, MAX(lease_epoch) OVER (PARTITION BY task_id ORDER BY id) newest FROM ing_task_run_batch) x WHERE x.own < x.newest`},
	{"batch numbers have gaps", `SELECT COUNT(*) FROM (SELECT run_id, MAX(batch_no) m, COUNT(*) n FROM ing_task_run_batch GROUP BY run_id) x WHERE x.m <> x.n`},
	{"an ended task holds a lease", `SELECT COUNT(*) FROM ing_task WHERE status_code IN ('SUCCEEDED','FAILED','PARTIAL','CANCELLED') AND (lease_owner IS NOT NULL OR leased_until IS NOT NULL)`},
	{"a leased task has no lease", `SELECT COUNT(*) FROM ing_task WHERE status_code IN ('DISPATCHED','EXECUTING') AND (lease_owner IS NULL OR leased_until IS NULL)`},
	{"a covered slice whose task did not succeed", `SELECT COUNT(*) FROM ing_plan_slice s JOIN ing_task t ON t.slice_id = s.id WHERE s.status_code = 'SUCCEEDED' AND t.status_code <> 'SUCCEEDED'`},
	{"more than one task per slice", `SELECT COUNT(*) FROM (SELECT slice_id, COUNT(*) n FROM ing_task GROUP BY slice_id) x WHERE x.n <> 1`},
	{"I5: the cursor went back", `SELECT COUNT(*) FROM ing_cursor_event WHERE kind_code <> 'MANUAL' AND new_instant < prev_instant`},
	{"I6: another operation wrote a HARVEST cursor", `SELECT COUNT(*) FROM ing_cursor_event e JOIN ing_plan p ON p.id = e.plan_id WHERE e.operation_code <> p.operation_code`},
	{"I10: a task runs another snapshot than its plan", `SELECT COUNT(*) FROM ing_task t JOIN ing_plan p ON p.id = t.plan_id WHERE t.spec_fingerprint <> p.spec_fingerprint`},
	{"batch without evidence", `SELECT COUNT(*) FROM ing_task_run_batch b LEFT JOIN ing_batch_evidence e ON e.batch_id = b.id WHERE e.batch_id IS NULL`},
	{"an answer without its items is not the one its batch refers to", `SELECT COUNT(*) FROM ing_lean_answer a JOIN ing_batch_evidence e ON e.batch_id = a.batch_id WHERE e.blob_ref IS NULL OR e.blob_ref <> LOWER(HEX(a.answer_hash))`},
	{"I5: a slice counts as read that no run read", `SELECT COUNT(*) FROM ing_cursor_event e JOIN ing_task_run r ON r.id = e.run_id WHERE e.kind_code = 'SUCCEEDED' AND r.status_code NOT IN ('SUCCEEDED','PARTIAL')`},
	{"I5: a whole slice counts as read that was not read to its end", `SELECT COUNT(*) FROM ing_cursor_event e JOIN ing_plan_slice s ON s.id = e.slice_id WHERE e.kind_code = 'SUCCEEDED' AND s.status_code <> 'SUCCEEDED' AND e.window_from = s.window_from AND e.window_to = s.window_to`},
	{"I7: a batch was committed after a newer lease began its run", `SELECT COUNT(*) FROM ing_task_run_batch b JOIN ing_task_run r ON r.task_id = b.task_id AND r.lease_epoch > b.lease_epoch WHERE b.committed_at > r.started_at`},
	{"I7: a run ended itself after a newer lease began its run", `SELECT COUNT(*) FROM ing_task_run a JOIN ing_task_run r ON r.task_id = a.task_id AND r.lease_epoch > a.lease_epoch WHERE a.finished_at > r.started_at`},
	{"I7: a batch of another lease than its run", `SELECT COUNT(*) FROM ing_task_run_batch b JOIN ing_task_run r ON r.id = b.run_id WHERE r.task_id <> b.task_id OR r.lease_epoch <> b.lease_epoch`},
	{"I2: a reject counts as settled and no batch settled it", `SELECT COUNT(*) FROM ing_quarantine WHERE status_code = 'RESOLVED' AND judged_batch_id IS NULL`},
	{"I2: a missing record that nobody will look at again", `SELECT COUNT(*) FROM ing_record r LEFT JOIN ing_signal s ON s.dataset_id = r.dataset_id AND s.id_hash = r.id_hash AND s.kind_code = 'MISSING' AND s.status_code = 'OPEN' WHERE r.state_code = 'ACTIVE' AND r.missing_since IS NOT NULL AND s.id IS NULL`},
	{"I9: a tombstone that nobody was told of", `SELECT COUNT(*) FROM ing_record r LEFT JOIN ing_outbox_message o ON o.body_id = r.body_id AND o.op_type = 'REMOVED' WHERE r.state_code = 'GONE' AND o.id IS NULL AND EXISTS (SELECT 1 FROM ing_outbox_message x WHERE x.aggregate_id = r.dataset_id)`},
	{"I8: a slice counts as read twice", `SELECT COUNT(*) FROM (SELECT slice_id, COUNT(*) n FROM ing_cursor_event WHERE kind_code = 'SUCCEEDED' AND slice_id IS NOT NULL GROUP BY slice_id) x WHERE x.n > 1`},
	{"I8: a plan is wanted twice", `SELECT COUNT(*) FROM (SELECT plan_id, COUNT(*) n FROM ing_cursor_event WHERE kind_code = 'PLANNED' AND plan_id IS NOT NULL AND slice_id IS NULL GROUP BY plan_id) x WHERE x.n > 1`},
}

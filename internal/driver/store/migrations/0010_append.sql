-- Unique indexes over hashes made every new row of a plan land on a page of its own: the cost of a slice grew with the
-- plan. What a hash is made of now stands before it, in the order in which rows come. Nothing that was refused is
-- allowed by this: a signature says where its slice begins, and a task key which slice it is for (D§5.5).

-- Where the slice begins, 0 if it is no stretch of time. Never NULL, which a unique index would take twice.
ALTER TABLE ing_plan_slice ADD COLUMN
  begins {int} NOT NULL DEFAULT 0;
UPDATE ing_plan_slice SET begins = COALESCE(window_from, 0);
DROP INDEX uk_slice_sig {of ing_plan_slice};
CREATE UNIQUE INDEX uk_slice_sig ON ing_plan_slice (plan_id, begins, slice_signature_hash);

DROP INDEX uk_task_idem {of ing_task};
DROP INDEX idx_task_slice {of ing_task};
CREATE UNIQUE INDEX uk_task_idem ON ing_task (slice_id, idempotent_key);

-- A body is one version of one record, and has one event (I9). That a version has one body, the heads see to: they are
-- locked, and counted up, in the transaction that writes both. Bodies are numbered in the order in which they come.
DROP INDEX uk_outbox_channel_dedup {of ing_outbox_message};
CREATE UNIQUE INDEX uk_outbox_body ON ing_outbox_message (body_id, channel);

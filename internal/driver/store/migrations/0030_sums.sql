-- What runs did and met, added up when each of them ends: how the work goes is asked without reading runs or batches.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per slot of time and partition. Slots are five minutes long, kept for two days, and an hour, kept as long as
-- runs are. A run counts in the slot in which it ends. Lengths of time are in milliseconds.
CREATE TABLE ing_work_sum (
  slot_seconds      {int} NOT NULL,
  slot_start        {instant} NOT NULL,
  provenance_code   {text 64} NOT NULL,
  endpoint_name     {text 64} NOT NULL,
  operation_code    {text 32} NOT NULL,
  runs_succeeded    {int} NOT NULL,
  runs_failed       {int} NOT NULL,
  runs_partial      {int} NOT NULL,
  runs_cancelled    {int} NOT NULL,
  batches           {int} NOT NULL,
  batches_failed    {int} NOT NULL,
  items_seen        {int} NOT NULL,
  items_inserted    {int} NOT NULL,
  items_updated     {int} NOT NULL,
  items_unchanged   {int} NOT NULL,
  items_gone        {int} NOT NULL,
  items_stale       {int} NOT NULL,
  items_duplicate   {int} NOT NULL,
  items_outside     {int} NOT NULL,
  items_quarantined {int} NOT NULL,
  items_late        {int} NOT NULL,
  requests          {int} NOT NULL,
  retries           {int} NOT NULL,
  throttled         {int} NOT NULL,
  answers           {int} NOT NULL,
  took_ms           {int} NOT NULL,
  slowest_ms        {int} NOT NULL,
  wait_ms           {int} NOT NULL,
  bytes_in          {int} NOT NULL,
  errors_l1         {int} NOT NULL,
  errors_l2         {int} NOT NULL,
  errors_l3         {int} NOT NULL,
  errors_l4         {int} NOT NULL,
  PRIMARY KEY (slot_seconds, slot_start, provenance_code, endpoint_name, operation_code)
) {clustered};
CREATE INDEX idx_work_sum_source ON ing_work_sum (provenance_code, slot_seconds, slot_start);

-- One row per hour, partition, level and code of an error, with the run that met it last.
CREATE TABLE ing_error_sum (
  slot_start       {instant} NOT NULL,
  provenance_code  {text 64} NOT NULL,
  endpoint_name    {text 64} NOT NULL,
  operation_code   {text 32} NOT NULL,
  level_code       {text 8} NOT NULL,
  error_code       {text 64} NOT NULL,
  times            {int} NOT NULL,
  last_at          {instant} NOT NULL,
  run_id           {int} NOT NULL,
  batch_no         {int} NOT NULL,
  PRIMARY KEY (slot_start, provenance_code, endpoint_name, operation_code, level_code, error_code)
) {clustered};

-- The chain of work: trigger, plan, slice, task, run, batch.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

CREATE TABLE ing_schedule_instance (
  id                 {id},
  trigger_key        {hash} NOT NULL,
  scheduler_code     {text 32} NOT NULL,
  scheduler_job_id   {text 64},
  scheduler_log_id   {text 64},
  trigger_type_code  {text 32} NOT NULL,
  triggered_at       {instant} NOT NULL,
  trigger_params     {json},
  provenance_code    {text 64} NOT NULL,
  record_remarks     {json},
  created_at         {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_sched_trigger ON ing_schedule_instance (trigger_key);
CREATE INDEX idx_sched_src ON ing_schedule_instance (scheduler_code, scheduler_job_id, scheduler_log_id);

CREATE TABLE ing_spec_snapshot (
  spec_fingerprint   {hash} NOT NULL,
  snapshot           {json} NOT NULL,
  created_at         {instant} NOT NULL,
  PRIMARY KEY (spec_fingerprint)
) {table};

CREATE TABLE ing_fingerprint (
  id                 {id},
  kind_code          {text 16} NOT NULL,
  hash               {hash} NOT NULL,
  created_at         {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_fingerprint ON ing_fingerprint (kind_code, hash);

CREATE TABLE ing_dataset (
  id                 {id},
  provenance_code    {text 64} NOT NULL,
  endpoint_name      {text 64} NOT NULL,
  created_at         {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_dataset ON ing_dataset (provenance_code, endpoint_name);

CREATE TABLE ing_partition (
  id                 {id},
  dataset_id         {int} NOT NULL,
  provenance_code    {text 64} NOT NULL,
  endpoint_name      {text 64} NOT NULL,
  operation_code     {text 32} NOT NULL,
  paused             {bool} NOT NULL DEFAULT 0,
  cooling_until      {instant},
  max_concurrent     {int} NOT NULL,
  created_at         {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_partition ON ing_partition (provenance_code, endpoint_name, operation_code);

CREATE TABLE ing_plan (
  id                     {id},
  schedule_instance_id   {int} NOT NULL,
  plan_key               {hash} NOT NULL,
  partition_id           {int} NOT NULL,
  cursor_id              {int} NOT NULL,
  provenance_code        {text 64} NOT NULL,
  endpoint_name          {text 64} NOT NULL,
  operation_code         {text 32} NOT NULL,
  expr_proto_hash        {hash} NOT NULL,
  expr_proto_snapshot    {json},
  expr_id                {int} NOT NULL,
  mapping_id             {int} NOT NULL,
  spec_fingerprint       {hash} NOT NULL,
  provenance_config_hash {hash} NOT NULL,
  window_from            {instant},
  window_to              {instant},
  as_of                  {instant} NOT NULL,
  slice_strategy_code    {text 32} NOT NULL,
  slice_params           {json},
  next_slice_no          {int} NOT NULL DEFAULT 1,
  status_code            {text 32} NOT NULL,
  record_remarks         {json},
  created_at             {instant} NOT NULL,
  updated_at             {instant} NOT NULL,
  version                {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_plan_key ON ing_plan (plan_key);
CREATE INDEX idx_plan_sched ON ing_plan (schedule_instance_id);
CREATE INDEX idx_plan_src_op_time ON ing_plan (provenance_code, operation_code, created_at);
CREATE INDEX idx_plan_status ON ing_plan (status_code);
CREATE INDEX idx_plan_expr ON ing_plan (expr_proto_hash);
CREATE INDEX idx_plan_spec ON ing_plan (spec_fingerprint);

CREATE TABLE ing_plan_slice (
  id                   {id},
  plan_id              {int} NOT NULL,
  parent_slice_id      {int},
  provenance_code      {text 64} NOT NULL,
  slice_no             {int} NOT NULL,
  slice_signature_hash {hash} NOT NULL,
  slice_spec           {json} NOT NULL,
  window_from          {instant},
  window_to            {instant},
  expr_hash            {hash} NOT NULL,
  expr_snapshot        {json},
  status_code          {text 32} NOT NULL,
  record_remarks       {json},
  created_at           {instant} NOT NULL,
  updated_at           {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_slice_unique ON ing_plan_slice (plan_id, slice_no);
CREATE UNIQUE INDEX uk_slice_sig ON ing_plan_slice (plan_id, slice_signature_hash);
CREATE INDEX idx_slice_status ON ing_plan_slice (plan_id, status_code);
CREATE INDEX idx_slice_prov_status ON ing_plan_slice (provenance_code, status_code);
CREATE INDEX idx_slice_expr ON ing_plan_slice (expr_hash);

CREATE TABLE ing_task (
  id                   {id},
  schedule_instance_id {int} NOT NULL,
  plan_id              {int} NOT NULL,
  slice_id             {int} NOT NULL,
  partition_id         {int} NOT NULL,
  provenance_code      {text 64} NOT NULL,
  endpoint_name        {text 64} NOT NULL,
  operation_code       {text 32} NOT NULL,
  spec_fingerprint     {hash} NOT NULL,
  credential_id        {int},
  params               {json},
  idempotent_key       {hash} NOT NULL,
  expr_hash            {hash} NOT NULL,
  priority             {int} NOT NULL,
  status_code          {text 32} NOT NULL,
  scheduled_at         {instant} NOT NULL,
  lease_owner          {text 128},
  lease_epoch          {int} NOT NULL DEFAULT 0,
  leased_until         {instant},
  lease_count          {int} NOT NULL DEFAULT 0,
  idle_leases          {int} NOT NULL DEFAULT 0,
  claim_token          {text 40},
  last_heartbeat_at    {instant},
  attempts             {int} NOT NULL DEFAULT 0,
  checkpoint           {json},
  cancel_requested     {bool} NOT NULL DEFAULT 0,
  last_error_code      {text 64},
  last_error_msg       {text 2000},
  started_at           {instant},
  finished_at          {instant},
  correlation_id       {text 64},
  created_at           {instant} NOT NULL,
  updated_at           {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_task_idem ON ing_task (idempotent_key);
CREATE INDEX idx_task_queue ON ing_task (status_code, partition_id, priority, scheduled_at, id);
CREATE INDEX idx_task_lease ON ing_task (status_code, leased_until);
CREATE INDEX idx_task_due ON ing_task (status_code, scheduled_at);
CREATE INDEX idx_task_claim ON ing_task (claim_token);
CREATE INDEX idx_task_slice ON ing_task (slice_id, status_code);
CREATE INDEX idx_task_plan ON ing_task (plan_id, status_code);

CREATE TABLE ing_task_run (
  id              {id},
  task_id         {int} NOT NULL,
  lease_epoch     {int} NOT NULL,
  attempt_no      {int} NOT NULL,
  plan_id         {int} NOT NULL,
  provenance_code {text 64} NOT NULL,
  operation_code  {text 32} NOT NULL,
  status_code     {text 32} NOT NULL,
  checkpoint      {json},
  stats           {json},
  error_code      {text 64},
  error           {longtext},
  window_from     {instant},
  window_to       {instant},
  worker          {text 128},
  started_at      {instant},
  finished_at     {instant},
  last_heartbeat  {instant},
  correlation_id  {text 64},
  created_at      {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_run_attempt ON ing_task_run (task_id, attempt_no);
CREATE UNIQUE INDEX uk_run_epoch ON ing_task_run (task_id, lease_epoch);
CREATE INDEX idx_run_task ON ing_task_run (task_id, status_code, created_at);
CREATE INDEX idx_run_prov_op_status ON ing_task_run (provenance_code, operation_code, status_code);
CREATE INDEX idx_run_plan ON ing_task_run (plan_id);

CREATE TABLE ing_task_run_batch (
  id                {id},
  run_id            {int} NOT NULL,
  task_id           {int} NOT NULL,
  slice_id          {int} NOT NULL,
  plan_id           {int} NOT NULL,
  lease_epoch       {int} NOT NULL,
  batch_no          {int} NOT NULL,
  pass              {int} NOT NULL,
  idempotent_key    {hash} NOT NULL,
  provenance_code   {text 64} NOT NULL,
  operation_code    {text 32} NOT NULL,
  page_no           {int},
  page_size         {int},
  before_token      {bytes 4096},
  before_token_hash {binary 16},
  after_token       {bytes 4096},
  next_url          {bytes 4096},
  record_count      {int} NOT NULL DEFAULT 0,
  status_code       {text 32} NOT NULL,
  stats             {json},
  error             {longtext},
  committed_at      {instant},
  created_at        {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_batch_idem ON ing_task_run_batch (idempotent_key);
CREATE UNIQUE INDEX uk_run_batch_no ON ing_task_run_batch (run_id, batch_no);
CREATE INDEX idx_batch_task ON ing_task_run_batch (task_id, batch_no);
CREATE INDEX idx_batch_before_tok ON ing_task_run_batch (run_id, before_token_hash);
CREATE INDEX idx_batch_status_time ON ing_task_run_batch (provenance_code, operation_code, status_code, committed_at);
CREATE INDEX idx_batch_plan ON ing_task_run_batch (plan_id);

-- What a batch keeps of its exchange stands beside the batch, so that millions of batch rows stay narrow.
CREATE TABLE ing_batch_evidence (
  batch_id    {int} NOT NULL,
  request     {json},
  response    {json},
  blob_ref    {text 128},
  created_at  {instant} NOT NULL,
  PRIMARY KEY (batch_id)
) {table};

-- Watermarks.

CREATE TABLE ing_cursor (
  id                    {id},
  provenance_code       {text 64} NOT NULL,
  operation_code        {text 32} NOT NULL,
  cursor_key            {text 64} NOT NULL,
  namespace_scope_code  {text 32} NOT NULL,
  namespace_key         {hash} NOT NULL,
  endpoint_name         {text 64} NOT NULL,
  cursor_type_code      {text 32} NOT NULL,
  cursor_value          {text 1024},
  observed_max_value    {text 1024},
  normalized_instant    {instant},
  normalized_numeric    {text 40},
  origin_instant        {instant},
  lookback_us           {int} NOT NULL DEFAULT 0,
  schedule_instance_id  {int},
  plan_id               {int},
  slice_id              {int},
  task_id               {int},
  last_run_id           {int},
  last_batch_id         {int},
  expr_hash             {hash},
  record_remarks        {json},
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_cursor_ns ON ing_cursor (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key);
CREATE INDEX idx_cursor_sort_time ON ing_cursor (cursor_type_code, normalized_instant);
CREATE INDEX idx_cursor_sort_id ON ing_cursor (cursor_type_code, normalized_numeric);
CREATE INDEX idx_cursor_lineage ON ing_cursor (schedule_instance_id, plan_id, slice_id, task_id, last_run_id, last_batch_id);

CREATE TABLE ing_cursor_event (
  id                    {id},
  cursor_id             {int} NOT NULL,
  kind_code             {text 16} NOT NULL,
  provenance_code       {text 64} NOT NULL,
  operation_code        {text 32} NOT NULL,
  cursor_key            {text 64} NOT NULL,
  namespace_scope_code  {text 32} NOT NULL,
  namespace_key         {hash} NOT NULL,
  cursor_type_code      {text 32} NOT NULL,
  prev_value            {text 1024},
  new_value             {text 1024},
  observed_max_value    {text 1024},
  prev_instant          {instant},
  new_instant           {instant},
  prev_numeric          {text 40},
  new_numeric           {text 40},
  window_from           {instant},
  window_to             {instant},
  spans                 {json},
  as_of                 {instant},
  event_at              {instant} NOT NULL,
  lookback_us           {int} NOT NULL DEFAULT 0,
  direction_code        {text 16} NOT NULL,
  idempotent_key        {hash} NOT NULL,
  schedule_instance_id  {int},
  plan_id               {int},
  slice_id              {int},
  task_id               {int},
  run_id                {int},
  batch_id              {int},
  lease_epoch           {int},
  expr_hash             {hash},
  actor                 {text 128},
  reason                {text 512},
  record_remarks        {json},
  created_at            {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_cur_evt_idem ON ing_cursor_event (idempotent_key);
CREATE INDEX idx_cur_evt_cursor ON ing_cursor_event (cursor_id, id);
CREATE INDEX idx_cur_evt_timeline ON ing_cursor_event (provenance_code, operation_code, namespace_scope_code, namespace_key, created_at);
CREATE INDEX idx_cur_evt_instant ON ing_cursor_event (cursor_type_code, new_instant);
CREATE INDEX idx_cur_evt_numeric ON ing_cursor_event (cursor_type_code, new_numeric);
CREATE INDEX idx_cur_evt_lineage ON ing_cursor_event (schedule_instance_id, plan_id, slice_id, task_id, run_id, batch_id);
CREATE INDEX idx_cur_evt_window ON ing_cursor_event (window_from, window_to);

CREATE TABLE ing_coverage (
  cursor_id    {int} NOT NULL,
  seg_from     {instant} NOT NULL,
  seg_to       {instant} NOT NULL,
  want_at      {instant},
  have_at      {instant},
  waived_at    {instant},
  fails        {int} NOT NULL DEFAULT 0,
  retry_after  {instant},
  PRIMARY KEY (cursor_id, seg_from)
) {clustered};

-- Records: a narrow head and append-only bodies.

CREATE TABLE ing_record (
  dataset_id         {int} NOT NULL,
  id_hash            {binary 16} NOT NULL,
  provider_id        {bytes 1024} NOT NULL,
  updated_at         {instant},
  source_version     {int} NOT NULL DEFAULT 0,
  content_hash       {binary 32} NOT NULL,
  fetch_at           {instant} NOT NULL,
  version            {int} NOT NULL,
  body_id            {int} NOT NULL,
  state_code         {text 8} NOT NULL,
  expr_id            {int} NOT NULL,
  mapping_id         {int} NOT NULL,
  refresh_checked_at {instant},
  PRIMARY KEY (dataset_id, id_hash)
) {clustered};

-- body_id = batch id × 2^20 + position in the batch: it grows with time, so bodies are appended.
CREATE TABLE ing_record_body (
  body_id       {int} NOT NULL,
  dataset_id    {int} NOT NULL,
  id_hash       {binary 16} NOT NULL,
  version       {int} NOT NULL,
  prev_body_id  {int},
  updated_at    {instant},
  fetch_at      {instant} NOT NULL,
  fields        {json},
  payload       {blob},
  codec         {text 8} NOT NULL,
  PRIMARY KEY (body_id)
) {table};

CREATE TABLE ing_outbox_message (
  id               {id},
  aggregate_type   {text 32} NOT NULL,
  aggregate_id     {int} NOT NULL,
  channel          {text 64} NOT NULL,
  op_type          {text 32} NOT NULL,
  partition_key    {bytes 128} NOT NULL,
  dedup_key        {binary 32} NOT NULL,
  body_id          {int},
  record_version   {int},
  payload_json     {json},
  headers_json     {json},
  not_before       {instant},
  published_at     {instant},
  status_code      {text 16} NOT NULL,
  retry_count      {int} NOT NULL DEFAULT 0,
  next_retry_at    {instant},
  error_code       {text 64},
  error_msg        {text 512},
  pub_lease_owner  {text 128},
  pub_lease_epoch  {int} NOT NULL DEFAULT 0,
  pub_leased_until {instant},
  created_at       {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_outbox_channel_dedup ON ing_outbox_message (channel, dedup_key);
CREATE INDEX idx_outbox_status_time ON ing_outbox_message (status_code, not_before, id);

CREATE TABLE ing_quarantine (
  id              {id},
  dataset_id      {int} NOT NULL,
  reject_key      {hash} NOT NULL,
  provenance_code {text 64} NOT NULL,
  endpoint_name   {text 64} NOT NULL,
  plan_id         {int} NOT NULL,
  slice_id        {int} NOT NULL,
  task_id         {int} NOT NULL,
  run_id          {int} NOT NULL,
  batch_id        {int} NOT NULL,
  item_index      {int} NOT NULL,
  provider_id     {bytes 1024},
  reason_code     {text 32} NOT NULL,
  path            {text 512},
  detail          {text 2000},
  raw_hash        {hash} NOT NULL,
  raw             {blob},
  codec           {text 8} NOT NULL,
  status_code     {text 16} NOT NULL,
  created_at      {instant} NOT NULL,
  updated_at      {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_quarantine_reject ON ing_quarantine (dataset_id, reject_key);
CREATE INDEX idx_quarantine_group ON ing_quarantine (dataset_id, status_code, reason_code);
CREATE INDEX idx_quarantine_batch ON ing_quarantine (batch_id);

CREATE TABLE ing_reslice_request (
  id           {id},
  slice_id     {int} NOT NULL,
  task_id      {int} NOT NULL,
  run_id       {int} NOT NULL,
  reason_code  {text 32} NOT NULL,
  window_from  {instant},
  window_to    {instant},
  status_code  {text 16} NOT NULL,
  detail       {json},
  created_at   {instant} NOT NULL,
  updated_at   {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_reslice_slice ON ing_reslice_request (slice_id);
CREATE INDEX idx_reslice_status ON ing_reslice_request (status_code, id);

-- Operators, processes and sources.

CREATE TABLE ing_audit_log (
  id           {id},
  at           {instant} NOT NULL,
  actor        {text 128} NOT NULL,
  action       {text 64} NOT NULL,
  object       {text 256} NOT NULL,
  reason       {text 512},
  detail       {json},
  prev_hash    {hash} NOT NULL,
  row_hash     {hash} NOT NULL
) {table};
CREATE INDEX idx_audit_object ON ing_audit_log (object, id);

CREATE TABLE ing_named_lease (
  name          {text 64} NOT NULL,
  owner         {text 128},
  epoch         {int} NOT NULL DEFAULT 0,
  leased_until  {instant},
  PRIMARY KEY (name)
) {table};

CREATE TABLE ing_executor (
  executor_id   {text 128} NOT NULL,
  roles         {text 128} NOT NULL,
  host          {text 128} NOT NULL,
  pid           {int} NOT NULL,
  started_at    {instant} NOT NULL,
  heartbeat_at  {instant} NOT NULL,
  alive_until   {instant} NOT NULL,
  PRIMARY KEY (executor_id)
) {table};
CREATE INDEX idx_executor_alive ON ing_executor (alive_until);

CREATE TABLE ing_source_state (
  provenance_code  {text 64} NOT NULL,
  endpoint_name    {text 64} NOT NULL,
  state_code       {text 16} NOT NULL,
  reason           {text 512},
  actor            {text 128},
  until_at         {instant},
  updated_at       {instant} NOT NULL,
  PRIMARY KEY (provenance_code, endpoint_name)
) {table};

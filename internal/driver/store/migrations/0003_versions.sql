-- Dated versions of whole sources, and every part of a source file as rows.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.
--
-- A table is rebuilt as copy, drop, create, copy back: that is the one way both databases have, and each statement
-- may be run twice, so that a killed migration is continued (F18).
--
-- Rows that never came into force, because another version was applied before they began, stay as RETIRED. active_1
-- is Y for an ACTIVE row and null for the others: a unique key treats nulls as different, so that of the rows of one
-- level that begin at the same instant only one can be in force. Columns that no setting of a source file fills are
-- null, and say nothing.

-- One version of a whole source, in force in [effective_from, effective_to): what the file says about the source
-- itself, who applied it and why. Rows of the other tables have dates of their own; every instant at which one of them
-- begins or ends is the begin of a version. changed_json lists tables and paths.
CREATE TABLE reg_provenance_version (
  id                    {id},
  provenance_id         {int} NOT NULL,
  provenance_code       {text 64} NOT NULL,
  provenance_name       {text 128} NOT NULL,
  base_url_default      {text 512},
  docs_url              {text 512},
  extra_json            {json},
  source_fingerprint    {hash},
  applied_at            {instant},
  actor                 {text 128},
  reason                {text 512},
  rows_changed          {int} NOT NULL DEFAULT 0,
  changed_json          {json},
  effective_from        {instant} NOT NULL,
  effective_to          {instant},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1              {text 1} DEFAULT 'Y',
  record_remarks        {json},
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_provenance_version__from ON reg_provenance_version (provenance_id, effective_from, active_1);
CREATE INDEX idx_reg_provenance_version__to ON reg_provenance_version (provenance_id, effective_to);

-- reg_provenance is now who a source is: its code, whether it is on, and a version that every apply raises. Its other
-- columns show what was in force when the source was last applied. What it said was undated so far, so the versions
-- before this one are dated by the rows of the other tables and share it.
INSERT INTO reg_provenance_version (provenance_id, provenance_code, provenance_name, base_url_default, docs_url, extra_json, reason, effective_from, effective_to, created_at, updated_at)
SELECT p.id, p.provenance_code, p.provenance_name, p.base_url_default, p.docs_url, p.extra_json, 'applied before versions were kept',
  d.at, LEAD(d.at) OVER (PARTITION BY p.id ORDER BY d.at), p.created_at, p.updated_at
FROM reg_provenance p JOIN (
  SELECT id AS provenance_id, created_at AS at FROM reg_provenance
  UNION SELECT provenance_id, effective_from FROM reg_prov_endpoint_def
  UNION SELECT provenance_id, effective_to FROM reg_prov_endpoint_def WHERE effective_to IS NOT NULL
  UNION SELECT provenance_id, effective_from FROM reg_prov_http_cfg
  UNION SELECT provenance_id, effective_to FROM reg_prov_http_cfg WHERE effective_to IS NOT NULL
  UNION SELECT provenance_id, effective_from FROM reg_prov_pagination_cfg
  UNION SELECT provenance_id, effective_to FROM reg_prov_pagination_cfg WHERE effective_to IS NOT NULL
  UNION SELECT provenance_id, effective_from FROM reg_prov_window_offset_cfg
  UNION SELECT provenance_id, effective_to FROM reg_prov_window_offset_cfg WHERE effective_to IS NOT NULL
  UNION SELECT provenance_id, effective_from FROM reg_prov_retry_cfg
  UNION SELECT provenance_id, effective_to FROM reg_prov_retry_cfg WHERE effective_to IS NOT NULL
  UNION SELECT provenance_id, effective_from FROM reg_prov_rate_limit_cfg
  UNION SELECT provenance_id, effective_to FROM reg_prov_rate_limit_cfg WHERE effective_to IS NOT NULL
  UNION SELECT provenance_id, effective_from FROM reg_prov_response_cfg
  UNION SELECT provenance_id, effective_to FROM reg_prov_response_cfg WHERE effective_to IS NOT NULL
) d ON d.provenance_id = p.id
WHERE NOT EXISTS (SELECT 1 FROM reg_provenance_version);

-- No two rows of the log follow the same one: a chain cannot fork.
CREATE UNIQUE INDEX uk_audit_prev ON ing_audit_log (prev_hash);

-- An endpoint, and the request sent to it.
CREATE TABLE reg_old_endpoint_def AS SELECT * FROM reg_prov_endpoint_def;
DROP TABLE IF EXISTS reg_prov_endpoint_def;
CREATE TABLE reg_prov_endpoint_def (
  id                        {id},
  provenance_id             {int} NOT NULL,
  endpoint_name             {text 64} NOT NULL DEFAULT '',
  operation_type            {text 32} NOT NULL DEFAULT 'ALL',
  endpoint_usage_code       {text 32},
  supported_operations_json {json},
  http_method_code          {text 8},
  path_template             {text 512},
  default_query_params      {json},
  default_body_payload      {json},
  request_content_type      {text 64},
  is_auth_required          {bool},
  credential_hint_name      {text 64},
  page_param_name           {text 64},
  page_size_param_name      {text 64},
  cursor_param_name         {text 64},
  ids_param_name            {text 64},
  extra_json                {json},
  effective_from            {instant} NOT NULL,
  effective_to              {instant},
  lifecycle_status_code     {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                  {text 1} DEFAULT 'Y',
  record_remarks            {json},
  created_at                {instant} NOT NULL,
  updated_at                {instant} NOT NULL,
  version                   {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_endpoint_def__dim_from ON reg_prov_endpoint_def (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_endpoint_def__dim_to ON reg_prov_endpoint_def (provenance_id, endpoint_name, operation_type, effective_to);
CREATE INDEX idx_reg_prov_endpoint_def__usage ON reg_prov_endpoint_def (endpoint_usage_code);
INSERT INTO reg_prov_endpoint_def (
  id, provenance_id, endpoint_name, operation_type, endpoint_usage_code, http_method_code, path_template,
  default_query_params, default_body_payload, request_content_type, credential_hint_name, page_param_name,
  page_size_param_name, cursor_param_name, ids_param_name, extra_json, effective_from, effective_to,
  lifecycle_status_code, active_1, record_remarks, created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, endpoint_usage_code, http_method_code, path_template,
  default_query_params, default_body_payload, request_content_type, credential_hint_name, page_param_name,
  page_size_param_name, cursor_param_name, ids_param_name, extra_json, effective_from, effective_to,
  lifecycle_status_code, CASE WHEN lifecycle_status_code = 'ACTIVE' THEN 'Y' END, record_remarks, created_at,
  updated_at, version
FROM reg_old_endpoint_def WHERE id NOT IN (SELECT id FROM reg_prov_endpoint_def);
DROP TABLE IF EXISTS reg_old_endpoint_def;

-- Transport.
CREATE TABLE reg_old_http_cfg AS SELECT * FROM reg_prov_http_cfg;
DROP TABLE IF EXISTS reg_prov_http_cfg;
CREATE TABLE reg_prov_http_cfg (
  id                      {id},
  provenance_id           {int} NOT NULL,
  endpoint_name           {text 64} NOT NULL DEFAULT '',
  operation_type          {text 32} NOT NULL DEFAULT 'ALL',
  base_url_override       {text 512},
  default_headers_json    {json},
  timeout_connect_millis  {int},
  timeout_read_millis     {int},
  timeout_total_millis    {int},
  tls_verify_enabled      {bool},
  proxy_url_value         {text 512},
  accept_compress_enabled {bool},
  prefer_http2_enabled    {bool},
  retry_after_policy_code {text 32},
  retry_after_cap_millis  {int},
  idempotency_header_name {text 64},
  idempotency_ttl_seconds {int},
  extra_json              {json},
  effective_from          {instant} NOT NULL,
  effective_to            {instant},
  lifecycle_status_code   {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                {text 1} DEFAULT 'Y',
  record_remarks          {json},
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_http_cfg__dim_from ON reg_prov_http_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_http_cfg__dim_to ON reg_prov_http_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_http_cfg (
  id, provenance_id, endpoint_name, operation_type, base_url_override, default_headers_json, timeout_connect_millis,
  timeout_read_millis, timeout_total_millis, proxy_url_value, retry_after_policy_code, retry_after_cap_millis,
  idempotency_header_name, idempotency_ttl_seconds, extra_json, effective_from, effective_to, lifecycle_status_code,
  active_1, record_remarks, created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, base_url_override, default_headers_json, timeout_connect_millis,
  timeout_read_millis, timeout_total_millis, proxy_url_value, retry_after_policy_code, retry_after_cap_millis,
  idempotency_header_name, idempotency_ttl_seconds, extra_json, effective_from, effective_to, lifecycle_status_code,
  CASE WHEN lifecycle_status_code = 'ACTIVE' THEN 'Y' END, record_remarks, created_at, updated_at, version
FROM reg_old_http_cfg WHERE id NOT IN (SELECT id FROM reg_prov_http_cfg);
DROP TABLE IF EXISTS reg_old_http_cfg;

-- How the upstream pages, and what a page says about the next one.
CREATE TABLE reg_old_pagination_cfg AS SELECT * FROM reg_prov_pagination_cfg;
DROP TABLE IF EXISTS reg_prov_pagination_cfg;
CREATE TABLE reg_prov_pagination_cfg (
  id                      {id},
  provenance_id           {int} NOT NULL,
  endpoint_name           {text 64} NOT NULL DEFAULT '',
  operation_type          {text 32} NOT NULL DEFAULT 'ALL',
  pagination_mode_code    {text 32},
  page_size_value         {int},
  max_pages_per_execution {int},
  page_number_param_name  {text 64},
  page_size_param_name    {text 64},
  start_page_number       {int},
  sort_field_param_name   {text 64},
  sort_direction          {text 8},
  cursor_param_name       {text 64},
  initial_cursor_value    {text 256},
  next_cursor_jsonpath    {text 512},
  next_url_jsonpath       {text 512},
  has_more_jsonpath       {text 512},
  total_count_jsonpath    {text 512},
  next_cursor_xpath       {text 512},
  has_more_xpath          {text 512},
  total_count_xpath       {text 512},
  extra_json              {json},
  effective_from          {instant} NOT NULL,
  effective_to            {instant},
  lifecycle_status_code   {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                {text 1} DEFAULT 'Y',
  record_remarks          {json},
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_pagination_cfg__dim_from ON reg_prov_pagination_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_pagination_cfg__dim_to ON reg_prov_pagination_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_pagination_cfg (
  id, provenance_id, endpoint_name, operation_type, pagination_mode_code, page_size_value, max_pages_per_execution,
  page_number_param_name, page_size_param_name, start_page_number, sort_field_param_name, sort_direction,
  cursor_param_name, initial_cursor_value, next_cursor_jsonpath, has_more_jsonpath, total_count_jsonpath,
  next_cursor_xpath, has_more_xpath, total_count_xpath, extra_json, effective_from, effective_to,
  lifecycle_status_code, active_1, record_remarks, created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, pagination_mode_code, page_size_value, max_pages_per_execution,
  page_number_param_name, page_size_param_name, start_page_number, sort_field_param_name, sort_direction,
  cursor_param_name, initial_cursor_value, next_cursor_jsonpath, has_more_jsonpath, total_count_jsonpath,
  next_cursor_xpath, has_more_xpath, total_count_xpath, extra_json, effective_from, effective_to,
  lifecycle_status_code, CASE WHEN lifecycle_status_code = 'ACTIVE' THEN 'Y' END, record_remarks, created_at,
  updated_at, version
FROM reg_old_pagination_cfg WHERE id NOT IN (SELECT id FROM reg_prov_pagination_cfg);
DROP TABLE IF EXISTS reg_old_pagination_cfg;

-- The window of a plan, the date it follows and how it is cut.
CREATE TABLE reg_old_window_offset_cfg AS SELECT * FROM reg_prov_window_offset_cfg;
DROP TABLE IF EXISTS reg_prov_window_offset_cfg;
CREATE TABLE reg_prov_window_offset_cfg (
  id                      {id},
  provenance_id           {int} NOT NULL,
  endpoint_name           {text 64} NOT NULL DEFAULT '',
  operation_type          {text 32} NOT NULL DEFAULT 'ALL',
  window_mode_code        {text 16},
  window_size_value       {int},
  window_size_unit_code   {text 16},
  calendar_align_to       {text 16},
  lookback_value          {int},
  lookback_unit_code      {text 16},
  overlap_value           {int},
  overlap_unit_code       {text 16},
  watermark_lag_seconds   {int},
  offset_type_code        {text 16},
  offset_field_name       {text 128},
  offset_date_format      {text 64},
  default_date_field_name {text 64},
  max_ids_per_window      {int},
  max_window_span_seconds {int},
  extra_json              {json},
  effective_from          {instant} NOT NULL,
  effective_to            {instant},
  lifecycle_status_code   {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                {text 1} DEFAULT 'Y',
  record_remarks          {json},
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_window_offset_cfg__dim_from ON reg_prov_window_offset_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_window_offset_cfg__dim_to ON reg_prov_window_offset_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_window_offset_cfg (
  id, provenance_id, endpoint_name, operation_type, window_mode_code, window_size_value, window_size_unit_code,
  calendar_align_to, lookback_value, lookback_unit_code, overlap_value, overlap_unit_code, watermark_lag_seconds,
  offset_type_code, offset_field_name, offset_date_format, default_date_field_name, max_ids_per_window,
  max_window_span_seconds, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, record_remarks,
  created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, window_mode_code, window_size_value, window_size_unit_code,
  calendar_align_to, lookback_value, lookback_unit_code, overlap_value, overlap_unit_code, watermark_lag_seconds,
  offset_type_code, offset_field_name, offset_date_format, default_date_field_name, max_ids_per_window,
  max_window_span_seconds, extra_json, effective_from, effective_to, lifecycle_status_code,
  CASE WHEN lifecycle_status_code = 'ACTIVE' THEN 'Y' END, record_remarks, created_at, updated_at, version
FROM reg_old_window_offset_cfg WHERE id NOT IN (SELECT id FROM reg_prov_window_offset_cfg);
DROP TABLE IF EXISTS reg_old_window_offset_cfg;

-- Retries of one request, back-off and circuit breaker. max_retry_times does not count the first try.
CREATE TABLE reg_old_retry_cfg AS SELECT * FROM reg_prov_retry_cfg;
DROP TABLE IF EXISTS reg_prov_retry_cfg;
CREATE TABLE reg_prov_retry_cfg (
  id                       {id},
  provenance_id            {int} NOT NULL,
  endpoint_name            {text 64} NOT NULL DEFAULT '',
  operation_type           {text 32} NOT NULL DEFAULT 'ALL',
  max_retry_times          {int},
  backoff_policy_type_code {text 32},
  initial_delay_millis     {int},
  max_delay_millis         {int},
  exp_multiplier_value     {double},
  jitter_factor_ratio      {double},
  retry_http_status_json   {json},
  giveup_http_status_json  {json},
  retry_on_network_error   {bool},
  circuit_break_threshold  {int},
  circuit_cooldown_millis  {int},
  extra_json               {json},
  effective_from           {instant} NOT NULL,
  effective_to             {instant},
  lifecycle_status_code    {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                 {text 1} DEFAULT 'Y',
  record_remarks           {json},
  created_at               {instant} NOT NULL,
  updated_at               {instant} NOT NULL,
  version                  {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_retry_cfg__dim_from ON reg_prov_retry_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_retry_cfg__dim_to ON reg_prov_retry_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_retry_cfg (
  id, provenance_id, endpoint_name, operation_type, max_retry_times, backoff_policy_type_code, initial_delay_millis,
  max_delay_millis, exp_multiplier_value, jitter_factor_ratio, retry_http_status_json, giveup_http_status_json,
  circuit_break_threshold, circuit_cooldown_millis, extra_json, effective_from, effective_to, lifecycle_status_code,
  active_1, record_remarks, created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, max_retry_times, backoff_policy_type_code, initial_delay_millis,
  max_delay_millis, exp_multiplier_value, jitter_factor_ratio, retry_http_status_json, giveup_http_status_json,
  circuit_break_threshold, circuit_cooldown_millis, extra_json, effective_from, effective_to, lifecycle_status_code,
  CASE WHEN lifecycle_status_code = 'ACTIVE' THEN 'Y' END, record_remarks, created_at, updated_at, version
FROM reg_old_retry_cfg WHERE id NOT IN (SELECT id FROM reg_prov_retry_cfg);
DROP TABLE IF EXISTS reg_old_retry_cfg;

-- Rate and concurrency. Rates are doubles: some sources allow less than one request a second.
CREATE TABLE reg_old_rate_limit_cfg AS SELECT * FROM reg_prov_rate_limit_cfg;
DROP TABLE IF EXISTS reg_prov_rate_limit_cfg;
CREATE TABLE reg_prov_rate_limit_cfg (
  id                            {id},
  provenance_id                 {int} NOT NULL,
  endpoint_name                 {text 64} NOT NULL DEFAULT '',
  operation_type                {text 32} NOT NULL DEFAULT 'ALL',
  rate_tokens_per_second        {double},
  burst_bucket_capacity         {int},
  max_concurrent_requests       {int},
  per_credential_qps_limit      {double},
  bucket_granularity_scope_code {text 32},
  smoothing_window_millis       {int},
  respect_server_rate_header    {bool},
  credential_name               {text 64},
  extra_json                    {json},
  effective_from                {instant} NOT NULL,
  effective_to                  {instant},
  lifecycle_status_code         {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                      {text 1} DEFAULT 'Y',
  record_remarks                {json},
  created_at                    {instant} NOT NULL,
  updated_at                    {instant} NOT NULL,
  version                       {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_rate_limit_cfg__dim_from ON reg_prov_rate_limit_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_rate_limit_cfg__dim_to ON reg_prov_rate_limit_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_rate_limit_cfg (
  id, provenance_id, endpoint_name, operation_type, rate_tokens_per_second, burst_bucket_capacity,
  max_concurrent_requests, per_credential_qps_limit, bucket_granularity_scope_code, smoothing_window_millis,
  respect_server_rate_header, credential_name, extra_json, effective_from, effective_to, lifecycle_status_code,
  active_1, record_remarks, created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, rate_tokens_per_second, burst_bucket_capacity,
  max_concurrent_requests, per_credential_qps_limit, bucket_granularity_scope_code, smoothing_window_millis,
  respect_server_rate_header, credential_name, extra_json, effective_from, effective_to, lifecycle_status_code,
  CASE WHEN lifecycle_status_code = 'ACTIVE' THEN 'Y' END, record_remarks, created_at, updated_at, version
FROM reg_old_rate_limit_cfg WHERE id NOT IN (SELECT id FROM reg_prov_rate_limit_cfg);
DROP TABLE IF EXISTS reg_old_rate_limit_cfg;

-- Where things are in an answer. Paths are RFC 9535; those of an item start at the item.
CREATE TABLE reg_old_response_cfg AS SELECT * FROM reg_prov_response_cfg;
DROP TABLE IF EXISTS reg_prov_response_cfg;
CREATE TABLE reg_prov_response_cfg (
  id                    {id},
  provenance_id         {int} NOT NULL,
  endpoint_name         {text 64} NOT NULL DEFAULT '',
  operation_type        {text 32} NOT NULL DEFAULT 'ALL',
  body_format_code      {text 16},
  items_jsonpath        {text 512},
  id_jsonpath           {text 512},
  id_case_code          {text 16},
  updated_at_jsonpath   {text 512},
  filtered_jsonpath     {text 512},
  zone_name             {text 64},
  version_jsonpath      {text 512},
  must_have_json        {json},
  empty_when_json       {json},
  error_when_json       {json},
  volatile_json         {json},
  fields_json           {json},
  required_json         {json},
  max_reject_ratio      {double},
  extra_json            {json},
  effective_from        {instant} NOT NULL,
  effective_to          {instant},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1              {text 1} DEFAULT 'Y',
  record_remarks        {json},
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_response_cfg__dim_from ON reg_prov_response_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_response_cfg__dim_to ON reg_prov_response_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_response_cfg (
  id, provenance_id, endpoint_name, operation_type, items_jsonpath, id_jsonpath, id_case_code, updated_at_jsonpath,
  filtered_jsonpath, version_jsonpath, must_have_json, volatile_json, fields_json, required_json, max_reject_ratio,
  extra_json, effective_from, effective_to, lifecycle_status_code, active_1, record_remarks, created_at, updated_at,
  version
) SELECT
  id, provenance_id, endpoint_name, operation_type, items_jsonpath, id_jsonpath, id_case_code, updated_at_jsonpath,
  filtered_jsonpath, version_jsonpath, must_have_json, volatile_json, fields_json, required_json, max_reject_ratio,
  extra_json, effective_from, effective_to, lifecycle_status_code,
  CASE WHEN lifecycle_status_code = 'ACTIVE' THEN 'Y' END, record_remarks, created_at, updated_at, version
FROM reg_old_response_cfg WHERE id NOT IN (SELECT id FROM reg_prov_response_cfg);
DROP TABLE IF EXISTS reg_old_response_cfg;

-- The tables below are filled for the first time: no program wrote to them before.

-- The second step of a source that searches by id: batched detail requests.
DROP TABLE IF EXISTS reg_prov_batching_cfg;
CREATE TABLE reg_prov_batching_cfg (
  id                             {id},
  provenance_id                  {int} NOT NULL,
  endpoint_name                  {text 64} NOT NULL DEFAULT '',
  operation_type                 {text 32} NOT NULL DEFAULT 'ALL',
  detail_endpoint_name           {text 64},
  detail_fetch_batch_size        {int},
  credential_name                {text 64},
  ids_param_name                 {text 64},
  ids_join_delimiter             {text 8},
  max_ids_per_request            {int},
  prefer_compact_payload         {bool},
  payload_compress_strategy_code {text 32},
  app_parallelism_degree         {int},
  per_host_concurrency_limit     {int},
  http_conn_pool_size            {int},
  backpressure_strategy_code     {text 32},
  request_template_json          {json},
  extra_json                     {json},
  effective_from                 {instant} NOT NULL,
  effective_to                   {instant},
  lifecycle_status_code          {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                       {text 1} DEFAULT 'Y',
  record_remarks                 {json},
  created_at                     {instant} NOT NULL,
  updated_at                     {instant} NOT NULL,
  version                        {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_batching_cfg__dim_from ON reg_prov_batching_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_batching_cfg__dim_to ON reg_prov_batching_cfg (provenance_id, endpoint_name, operation_type, effective_to);

-- The standing condition of a query and its limits, and what templates may use.
CREATE TABLE reg_prov_query_cfg (
  id                      {id},
  provenance_id           {int} NOT NULL,
  endpoint_name           {text 64} NOT NULL DEFAULT '',
  operation_type          {text 32} NOT NULL DEFAULT 'ALL',
  where_text              {longtext},
  max_query_length        {int},
  max_param_count         {int},
  template_functions_json {json},
  null_policy_code        {text 16},
  extra_json              {json},
  effective_from          {instant} NOT NULL,
  effective_to            {instant},
  lifecycle_status_code   {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                {text 1} DEFAULT 'Y',
  record_remarks          {json},
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_query_cfg__dim_from ON reg_prov_query_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_query_cfg__dim_to ON reg_prov_query_cfg (provenance_id, endpoint_name, operation_type, effective_to);

-- A credential of a source. Only references to secrets are stored, never values (I12).
DROP TABLE IF EXISTS reg_prov_credential;
CREATE TABLE reg_prov_credential (
  id                      {id},
  provenance_id           {int} NOT NULL,
  endpoint_name           {text 64} NOT NULL DEFAULT '',
  operation_type          {text 32} NOT NULL DEFAULT 'ALL',
  credential_name         {text 64} NOT NULL,
  auth_type               {text 32},
  inbound_location_code   {text 16},
  credential_field_name   {text 128},
  credential_value_prefix {text 64},
  credential_value_ref    {text 256},
  basic_username_ref      {text 256},
  basic_password_ref      {text 256},
  oauth_token_url         {text 512},
  oauth_client_id_ref     {text 256},
  oauth_client_secret_ref {text 256},
  oauth_scope             {text 512},
  oauth_audience          {text 512},
  is_default_preferred    {bool},
  extra_json              {json},
  effective_from          {instant} NOT NULL,
  effective_to            {instant},
  lifecycle_status_code   {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                {text 1} DEFAULT 'Y',
  record_remarks          {json},
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_credential__dim_from ON reg_prov_credential (provenance_id, endpoint_name, operation_type, credential_name, effective_from, active_1);
CREATE INDEX idx_reg_prov_credential__dim_to ON reg_prov_credential (provenance_id, endpoint_name, operation_type, credential_name, effective_to);

-- A field a source may be queried with: what it is.
DROP TABLE IF EXISTS reg_expr_field_dict;
CREATE TABLE reg_expr_field_dict (
  id                    {id},
  provenance_id         {int} NOT NULL,
  endpoint_name         {text 64} NOT NULL DEFAULT '',
  operation_type        {text 32} NOT NULL DEFAULT 'ALL',
  field_key             {text 64} NOT NULL,
  display_name          {text 128},
  description           {text 255},
  data_type_code        {text 32},
  cardinality_code      {text 16},
  exposable             {bool},
  is_date               {bool},
  extra_json            {json},
  effective_from        {instant} NOT NULL,
  effective_to          {instant},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1              {text 1} DEFAULT 'Y',
  record_remarks        {json},
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_expr_field_dict__dim_from ON reg_expr_field_dict (provenance_id, endpoint_name, operation_type, field_key, effective_from, active_1);
CREATE INDEX idx_reg_expr_field_dict__dim_to ON reg_expr_field_dict (provenance_id, endpoint_name, operation_type, field_key, effective_to);

-- A standard key and the parameter a source calls it.
DROP TABLE IF EXISTS reg_prov_api_param_map;
CREATE TABLE reg_prov_api_param_map (
  id                    {id},
  provenance_id         {int} NOT NULL,
  endpoint_name         {text 64} NOT NULL DEFAULT '',
  operation_type        {text 32} NOT NULL DEFAULT 'ALL',
  std_key               {text 64} NOT NULL,
  provider_param_name   {text 64},
  param_location_code   {text 16},
  default_value         {text 512},
  is_required           {bool},
  transform_code        {text 64},
  notes                 {json},
  extra_json            {json},
  effective_from        {instant} NOT NULL,
  effective_to          {instant},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1              {text 1} DEFAULT 'Y',
  record_remarks        {json},
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_api_param_map__dim_from ON reg_prov_api_param_map (provenance_id, endpoint_name, operation_type, std_key, effective_from, active_1);
CREATE INDEX idx_reg_prov_api_param_map__dim_to ON reg_prov_api_param_map (provenance_id, endpoint_name, operation_type, std_key, effective_to);

-- Which operators a source takes on a field, and within which limits. The ends of a range are a date, an instant or a
-- decimal number as the file writes them: 38 digits fit no number type both databases have.
DROP TABLE IF EXISTS reg_prov_expr_capability;
CREATE TABLE reg_prov_expr_capability (
  id                          {id},
  provenance_id               {int} NOT NULL,
  endpoint_name               {text 64} NOT NULL DEFAULT '',
  operation_type              {text 32} NOT NULL DEFAULT 'ALL',
  field_key                   {text 64} NOT NULL,
  ops                         {json},
  negatable_ops               {json},
  supports_not                {bool},
  term_matches                {json},
  term_case_sensitive_allowed {bool},
  term_allow_blank            {bool},
  term_min_len                {int},
  term_max_len                {int},
  term_pattern                {text 255},
  in_max_size                 {int},
  in_case_sensitive_allowed   {bool},
  range_kind_code             {text 16},
  range_allow_open_start      {bool},
  range_allow_open_end        {bool},
  range_allow_closed_at_infty {bool},
  range_min                   {text 64},
  range_max                   {text 64},
  whole_numbers               {bool},
  exists_supported            {bool},
  token_kinds                 {json},
  token_value_pattern         {text 255},
  extra_json                  {json},
  effective_from              {instant} NOT NULL,
  effective_to                {instant},
  lifecycle_status_code       {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                    {text 1} DEFAULT 'Y',
  record_remarks              {json},
  created_at                  {instant} NOT NULL,
  updated_at                  {instant} NOT NULL,
  version                     {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_expr_capability__dim_from ON reg_prov_expr_capability (provenance_id, endpoint_name, operation_type, field_key, effective_from, active_1);
CREATE INDEX idx_reg_prov_expr_capability__dim_to ON reg_prov_expr_capability (provenance_id, endpoint_name, operation_type, field_key, effective_to);

-- How one kind of condition becomes query text or parameters.
DROP TABLE IF EXISTS reg_prov_expr_render_rule;
CREATE TABLE reg_prov_expr_render_rule (
  id                    {id},
  provenance_id         {int} NOT NULL,
  endpoint_name         {text 64} NOT NULL DEFAULT '',
  operation_type        {text 32} NOT NULL DEFAULT 'ALL',
  rule_name             {text 64} NOT NULL,
  field_key             {text 64},
  op_code               {text 16},
  match_type_code       {text 16},
  negated               {bool},
  value_type_code       {text 16},
  emit_type_code        {text 8},
  template              {longtext},
  item_template         {longtext},
  joiner                {text 32},
  wrap_group            {bool},
  params                {json},
  fn_code               {text 64},
  bounds_code           {text 16},
  bound_precision_code  {text 16},
  bound_format          {text 64},
  extra_json            {json},
  effective_from        {instant} NOT NULL,
  effective_to          {instant},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1              {text 1} DEFAULT 'Y',
  record_remarks        {json},
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_expr_render_rule__dim_from ON reg_prov_expr_render_rule (provenance_id, endpoint_name, operation_type, rule_name, effective_from, active_1);
CREATE INDEX idx_reg_prov_expr_render_rule__dim_to ON reg_prov_expr_render_rule (provenance_id, endpoint_name, operation_type, rule_name, effective_to);

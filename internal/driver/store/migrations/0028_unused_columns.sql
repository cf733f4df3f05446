-- Columns of the registry and of the dictionary that no program ever wrote or read. A setting of a source file that has
-- no column of its own is in extra_json, as before. What a source says of itself is in reg_provenance_version;
-- reg_provenance is its identity: code, switch and counter. Tables are made anew and filled: SQLite would read the whole
-- schema again for every single column that is dropped.

-- One row per list of codes.
CREATE TABLE sys_old_type AS SELECT * FROM sys_dict_type;
DROP TABLE IF EXISTS sys_dict_type;
CREATE TABLE sys_dict_type (
  id                 {id},
  type_code          {text 64} NOT NULL,
  type_name          {text 200} NOT NULL,
  allow_custom_items {bool} NOT NULL DEFAULT 0,
  is_system          {bool} NOT NULL DEFAULT 1,
  created_at         {instant} NOT NULL,
  updated_at         {instant} NOT NULL,
  version            {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_sys_dict_type__code ON sys_dict_type (type_code);
INSERT INTO sys_dict_type (
  id, type_code, type_name, allow_custom_items, is_system, created_at, updated_at, version
) SELECT
  id, type_code, type_name, allow_custom_items, is_system, created_at, updated_at, version
FROM sys_old_type WHERE id NOT IN (SELECT id FROM sys_dict_type);
DROP TABLE IF EXISTS sys_old_type;

-- One code of a list. default_key is type_id for the default item and null for the others, so that a
-- list has at most one default. The program writes it; there are no generated columns.
CREATE TABLE sys_old_item AS SELECT * FROM sys_dict_item;
DROP TABLE IF EXISTS sys_dict_item;
CREATE TABLE sys_dict_item (
  id             {id},
  type_id        {int} NOT NULL,
  item_code      {text 64} NOT NULL,
  item_name      {text 200} NOT NULL,
  display_order  {int} NOT NULL DEFAULT 100,
  is_default     {bool} NOT NULL DEFAULT 0,
  enabled        {bool} NOT NULL DEFAULT 1,
  default_key    {int},
  record_remarks {json},
  created_at     {instant} NOT NULL,
  updated_at     {instant} NOT NULL,
  version        {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_sys_dict_item__type_code ON sys_dict_item (type_id, item_code);
CREATE UNIQUE INDEX uk_sys_dict_item__default_per_type ON sys_dict_item (default_key);
CREATE INDEX idx_sys_dict_item__type_enabled ON sys_dict_item (type_id, enabled, display_order);
INSERT INTO sys_dict_item (
  id, type_id, item_code, item_name, display_order, is_default, enabled, default_key, record_remarks, created_at,
  updated_at, version
) SELECT
  id, type_id, item_code, item_name, display_order, is_default, enabled, default_key, record_remarks, created_at,
  updated_at, version
FROM sys_old_item WHERE id NOT IN (SELECT id FROM sys_dict_item);
DROP TABLE IF EXISTS sys_old_item;

-- An older or foreign code of an item. Codes are unique only within a list, so the list is part of the key.
CREATE TABLE sys_old_item_alias AS SELECT * FROM sys_dict_item_alias;
DROP TABLE IF EXISTS sys_dict_item_alias;
CREATE TABLE sys_dict_item_alias (
  id            {id},
  item_id       {int} NOT NULL,
  type_id       {int} NOT NULL,
  source_system {text 64} NOT NULL,
  external_code {text 128} NOT NULL,
  created_at    {instant} NOT NULL,
  updated_at    {instant} NOT NULL,
  version       {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_dict_alias__src_code ON sys_dict_item_alias (source_system, type_id, external_code);
CREATE INDEX idx_dict_alias__item ON sys_dict_item_alias (item_id, source_system);
INSERT INTO sys_dict_item_alias (
  id, item_id, type_id, source_system, external_code, created_at, updated_at, version
) SELECT
  id, item_id, type_id, source_system, external_code, created_at, updated_at, version
FROM sys_old_item_alias WHERE id NOT IN (SELECT id FROM sys_dict_item_alias);
DROP TABLE IF EXISTS sys_old_item_alias;

-- The root row of a source.
UPDATE reg_provenance SET is_active = 0 WHERE lifecycle_status_code <> 'ACTIVE';
CREATE TABLE reg_old_provenance AS SELECT * FROM reg_provenance;
DROP TABLE IF EXISTS reg_provenance;
CREATE TABLE reg_provenance (
  id              {id},
  provenance_code {text 64} NOT NULL,
  is_active       {bool} NOT NULL DEFAULT 1,
  created_at      {instant} NOT NULL,
  updated_at      {instant} NOT NULL,
  version         {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_provenance_code ON reg_provenance (provenance_code);
INSERT INTO reg_provenance (
  id, provenance_code, is_active, created_at, updated_at, version
) SELECT
  id, provenance_code, is_active, created_at, updated_at, version
FROM reg_old_provenance WHERE id NOT IN (SELECT id FROM reg_provenance);
DROP TABLE IF EXISTS reg_old_provenance;

-- One version of a whole source, in force in [effective_from, effective_to): what the file says about the source
-- itself, who applied it and why. Rows of the other tables have dates of their own; every instant at which one of them
-- begins or ends is the begin of a version. changed_json lists tables and paths.
CREATE TABLE reg_old_provenance_version AS SELECT * FROM reg_provenance_version;
DROP TABLE IF EXISTS reg_provenance_version;
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
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_provenance_version__from ON reg_provenance_version (provenance_id, effective_from, active_1);
CREATE INDEX idx_reg_provenance_version__to ON reg_provenance_version (provenance_id, effective_to);
INSERT INTO reg_provenance_version (
  id, provenance_id, provenance_code, provenance_name, base_url_default, docs_url, extra_json, source_fingerprint,
  applied_at, actor, reason, rows_changed, changed_json, effective_from, effective_to, lifecycle_status_code,
  active_1, created_at, updated_at, version
) SELECT
  id, provenance_id, provenance_code, provenance_name, base_url_default, docs_url, extra_json, source_fingerprint,
  applied_at, actor, reason, rows_changed, changed_json, effective_from, effective_to, lifecycle_status_code,
  active_1, created_at, updated_at, version
FROM reg_old_provenance_version WHERE id NOT IN (SELECT id FROM reg_provenance_version);
DROP TABLE IF EXISTS reg_old_provenance_version;

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
  is_auth_required          {bool},
  credential_hint_name      {text 64},
  extra_json                {json},
  effective_from            {instant} NOT NULL,
  effective_to              {instant},
  lifecycle_status_code     {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                  {text 1} DEFAULT 'Y',
  created_at                {instant} NOT NULL,
  updated_at                {instant} NOT NULL,
  version                   {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_endpoint_def__dim_from ON reg_prov_endpoint_def (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_endpoint_def__dim_to ON reg_prov_endpoint_def (provenance_id, endpoint_name, operation_type, effective_to);
CREATE INDEX idx_reg_prov_endpoint_def__usage ON reg_prov_endpoint_def (endpoint_usage_code);
INSERT INTO reg_prov_endpoint_def (
  id, provenance_id, endpoint_name, operation_type, endpoint_usage_code, supported_operations_json, http_method_code,
  path_template, default_query_params, is_auth_required, credential_hint_name, extra_json, effective_from,
  effective_to, lifecycle_status_code, active_1, created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, endpoint_usage_code, supported_operations_json, http_method_code,
  path_template, default_query_params, is_auth_required, credential_hint_name, extra_json, effective_from,
  effective_to, lifecycle_status_code, active_1, created_at, updated_at, version
FROM reg_old_endpoint_def WHERE id NOT IN (SELECT id FROM reg_prov_endpoint_def);
DROP TABLE IF EXISTS reg_old_endpoint_def;

CREATE TABLE reg_old_http_cfg AS SELECT * FROM reg_prov_http_cfg;
DROP TABLE IF EXISTS reg_prov_http_cfg;
CREATE TABLE reg_prov_http_cfg (
  id                     {id},
  provenance_id          {int} NOT NULL,
  endpoint_name          {text 64} NOT NULL DEFAULT '',
  operation_type         {text 32} NOT NULL DEFAULT 'ALL',
  base_url_override      {text 512},
  default_headers_json   {json},
  timeout_connect_millis {int},
  timeout_read_millis    {int},
  timeout_total_millis   {int},
  proxy_url_value        {text 512},
  retry_after_cap_millis {int},
  extra_json             {json},
  effective_from         {instant} NOT NULL,
  effective_to           {instant},
  lifecycle_status_code  {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1               {text 1} DEFAULT 'Y',
  created_at             {instant} NOT NULL,
  updated_at             {instant} NOT NULL,
  version                {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_http_cfg__dim_from ON reg_prov_http_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_http_cfg__dim_to ON reg_prov_http_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_http_cfg (
  id, provenance_id, endpoint_name, operation_type, base_url_override, default_headers_json, timeout_connect_millis,
  timeout_read_millis, timeout_total_millis, proxy_url_value, retry_after_cap_millis, extra_json, effective_from,
  effective_to, lifecycle_status_code, active_1, created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, base_url_override, default_headers_json, timeout_connect_millis,
  timeout_read_millis, timeout_total_millis, proxy_url_value, retry_after_cap_millis, extra_json, effective_from,
  effective_to, lifecycle_status_code, active_1, created_at, updated_at, version
FROM reg_old_http_cfg WHERE id NOT IN (SELECT id FROM reg_prov_http_cfg);
DROP TABLE IF EXISTS reg_old_http_cfg;

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
  start_page_number       {int},
  initial_cursor_value    {text 256},
  next_cursor_jsonpath    {text 512},
  next_url_jsonpath       {text 512},
  has_more_jsonpath       {text 512},
  total_count_jsonpath    {text 512},
  extra_json              {json},
  effective_from          {instant} NOT NULL,
  effective_to            {instant},
  lifecycle_status_code   {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                {text 1} DEFAULT 'Y',
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_pagination_cfg__dim_from ON reg_prov_pagination_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_pagination_cfg__dim_to ON reg_prov_pagination_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_pagination_cfg (
  id, provenance_id, endpoint_name, operation_type, pagination_mode_code, page_size_value, max_pages_per_execution,
  start_page_number, initial_cursor_value, next_cursor_jsonpath, next_url_jsonpath, has_more_jsonpath,
  total_count_jsonpath, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at,
  updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, pagination_mode_code, page_size_value, max_pages_per_execution,
  start_page_number, initial_cursor_value, next_cursor_jsonpath, next_url_jsonpath, has_more_jsonpath,
  total_count_jsonpath, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at,
  updated_at, version
FROM reg_old_pagination_cfg WHERE id NOT IN (SELECT id FROM reg_prov_pagination_cfg);
DROP TABLE IF EXISTS reg_old_pagination_cfg;

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
  watermark_lag_seconds   {int},
  offset_date_format      {text 64},
  default_date_field_name {text 64},
  max_window_span_seconds {int},
  extra_json              {json},
  effective_from          {instant} NOT NULL,
  effective_to            {instant},
  lifecycle_status_code   {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                {text 1} DEFAULT 'Y',
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_window_offset_cfg__dim_from ON reg_prov_window_offset_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_window_offset_cfg__dim_to ON reg_prov_window_offset_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_window_offset_cfg (
  id, provenance_id, endpoint_name, operation_type, window_mode_code, window_size_value, window_size_unit_code,
  calendar_align_to, lookback_value, lookback_unit_code, watermark_lag_seconds, offset_date_format,
  default_date_field_name, max_window_span_seconds, extra_json, effective_from, effective_to, lifecycle_status_code,
  active_1, created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, window_mode_code, window_size_value, window_size_unit_code,
  calendar_align_to, lookback_value, lookback_unit_code, watermark_lag_seconds, offset_date_format,
  default_date_field_name, max_window_span_seconds, extra_json, effective_from, effective_to, lifecycle_status_code,
  active_1, created_at, updated_at, version
FROM reg_old_window_offset_cfg WHERE id NOT IN (SELECT id FROM reg_prov_window_offset_cfg);
DROP TABLE IF EXISTS reg_old_window_offset_cfg;

CREATE TABLE reg_old_retry_cfg AS SELECT * FROM reg_prov_retry_cfg;
DROP TABLE IF EXISTS reg_prov_retry_cfg;
CREATE TABLE reg_prov_retry_cfg (
  id                      {id},
  provenance_id           {int} NOT NULL,
  endpoint_name           {text 64} NOT NULL DEFAULT '',
  operation_type          {text 32} NOT NULL DEFAULT 'ALL',
  max_retry_times         {int},
  initial_delay_millis    {int},
  max_delay_millis        {int},
  exp_multiplier_value    {double},
  jitter_factor_ratio     {double},
  retry_http_status_json  {json},
  giveup_http_status_json {json},
  circuit_break_threshold {int},
  circuit_cooldown_millis {int},
  extra_json              {json},
  effective_from          {instant} NOT NULL,
  effective_to            {instant},
  lifecycle_status_code   {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                {text 1} DEFAULT 'Y',
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_retry_cfg__dim_from ON reg_prov_retry_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_retry_cfg__dim_to ON reg_prov_retry_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_retry_cfg (
  id, provenance_id, endpoint_name, operation_type, max_retry_times, initial_delay_millis, max_delay_millis,
  exp_multiplier_value, jitter_factor_ratio, retry_http_status_json, giveup_http_status_json,
  circuit_break_threshold, circuit_cooldown_millis, extra_json, effective_from, effective_to, lifecycle_status_code,
  active_1, created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, max_retry_times, initial_delay_millis, max_delay_millis,
  exp_multiplier_value, jitter_factor_ratio, retry_http_status_json, giveup_http_status_json,
  circuit_break_threshold, circuit_cooldown_millis, extra_json, effective_from, effective_to, lifecycle_status_code,
  active_1, created_at, updated_at, version
FROM reg_old_retry_cfg WHERE id NOT IN (SELECT id FROM reg_prov_retry_cfg);
DROP TABLE IF EXISTS reg_old_retry_cfg;

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
  respect_server_rate_header    {bool},
  credential_name               {text 64},
  extra_json                    {json},
  effective_from                {instant} NOT NULL,
  effective_to                  {instant},
  lifecycle_status_code         {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                      {text 1} DEFAULT 'Y',
  created_at                    {instant} NOT NULL,
  updated_at                    {instant} NOT NULL,
  version                       {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_rate_limit_cfg__dim_from ON reg_prov_rate_limit_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_rate_limit_cfg__dim_to ON reg_prov_rate_limit_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_rate_limit_cfg (
  id, provenance_id, endpoint_name, operation_type, rate_tokens_per_second, burst_bucket_capacity,
  max_concurrent_requests, per_credential_qps_limit, bucket_granularity_scope_code, respect_server_rate_header,
  credential_name, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at, updated_at,
  version
) SELECT
  id, provenance_id, endpoint_name, operation_type, rate_tokens_per_second, burst_bucket_capacity,
  max_concurrent_requests, per_credential_qps_limit, bucket_granularity_scope_code, respect_server_rate_header,
  credential_name, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at, updated_at,
  version
FROM reg_old_rate_limit_cfg WHERE id NOT IN (SELECT id FROM reg_prov_rate_limit_cfg);
DROP TABLE IF EXISTS reg_old_rate_limit_cfg;

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
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_response_cfg__dim_from ON reg_prov_response_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_response_cfg__dim_to ON reg_prov_response_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_response_cfg (
  id, provenance_id, endpoint_name, operation_type, body_format_code, items_jsonpath, id_jsonpath, id_case_code,
  updated_at_jsonpath, filtered_jsonpath, zone_name, version_jsonpath, must_have_json, empty_when_json,
  error_when_json, volatile_json, fields_json, required_json, max_reject_ratio, extra_json, effective_from,
  effective_to, lifecycle_status_code, active_1, created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, body_format_code, items_jsonpath, id_jsonpath, id_case_code,
  updated_at_jsonpath, filtered_jsonpath, zone_name, version_jsonpath, must_have_json, empty_when_json,
  error_when_json, volatile_json, fields_json, required_json, max_reject_ratio, extra_json, effective_from,
  effective_to, lifecycle_status_code, active_1, created_at, updated_at, version
FROM reg_old_response_cfg WHERE id NOT IN (SELECT id FROM reg_prov_response_cfg);
DROP TABLE IF EXISTS reg_old_response_cfg;

CREATE TABLE reg_old_batching_cfg AS SELECT * FROM reg_prov_batching_cfg;
DROP TABLE IF EXISTS reg_prov_batching_cfg;
CREATE TABLE reg_prov_batching_cfg (
  id                      {id},
  provenance_id           {int} NOT NULL,
  endpoint_name           {text 64} NOT NULL DEFAULT '',
  operation_type          {text 32} NOT NULL DEFAULT 'ALL',
  detail_endpoint_name    {text 64},
  detail_fetch_batch_size {int},
  max_ids_per_request     {int},
  extra_json              {json},
  effective_from          {instant} NOT NULL,
  effective_to            {instant},
  lifecycle_status_code   {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1                {text 1} DEFAULT 'Y',
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_batching_cfg__dim_from ON reg_prov_batching_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_batching_cfg__dim_to ON reg_prov_batching_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_batching_cfg (
  id, provenance_id, endpoint_name, operation_type, detail_endpoint_name, detail_fetch_batch_size,
  max_ids_per_request, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at,
  updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, detail_endpoint_name, detail_fetch_batch_size,
  max_ids_per_request, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at,
  updated_at, version
FROM reg_old_batching_cfg WHERE id NOT IN (SELECT id FROM reg_prov_batching_cfg);
DROP TABLE IF EXISTS reg_old_batching_cfg;

-- The standing condition of a query and its limits, and what templates may use.
CREATE TABLE reg_old_query_cfg AS SELECT * FROM reg_prov_query_cfg;
DROP TABLE IF EXISTS reg_prov_query_cfg;
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
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_query_cfg__dim_from ON reg_prov_query_cfg (provenance_id, endpoint_name, operation_type, effective_from, active_1);
CREATE INDEX idx_reg_prov_query_cfg__dim_to ON reg_prov_query_cfg (provenance_id, endpoint_name, operation_type, effective_to);
INSERT INTO reg_prov_query_cfg (
  id, provenance_id, endpoint_name, operation_type, where_text, max_query_length, max_param_count,
  template_functions_json, null_policy_code, extra_json, effective_from, effective_to, lifecycle_status_code,
  active_1, created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, where_text, max_query_length, max_param_count,
  template_functions_json, null_policy_code, extra_json, effective_from, effective_to, lifecycle_status_code,
  active_1, created_at, updated_at, version
FROM reg_old_query_cfg WHERE id NOT IN (SELECT id FROM reg_prov_query_cfg);
DROP TABLE IF EXISTS reg_old_query_cfg;

CREATE TABLE reg_old_credential AS SELECT * FROM reg_prov_credential;
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
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_credential__dim_from ON reg_prov_credential (provenance_id, endpoint_name, operation_type, credential_name, effective_from, active_1);
CREATE INDEX idx_reg_prov_credential__dim_to ON reg_prov_credential (provenance_id, endpoint_name, operation_type, credential_name, effective_to);
INSERT INTO reg_prov_credential (
  id, provenance_id, endpoint_name, operation_type, credential_name, auth_type, inbound_location_code,
  credential_field_name, credential_value_prefix, credential_value_ref, basic_username_ref, basic_password_ref,
  oauth_token_url, oauth_client_id_ref, oauth_client_secret_ref, oauth_scope, oauth_audience, is_default_preferred,
  extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, credential_name, auth_type, inbound_location_code,
  credential_field_name, credential_value_prefix, credential_value_ref, basic_username_ref, basic_password_ref,
  oauth_token_url, oauth_client_id_ref, oauth_client_secret_ref, oauth_scope, oauth_audience, is_default_preferred,
  extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at, updated_at, version
FROM reg_old_credential WHERE id NOT IN (SELECT id FROM reg_prov_credential);
DROP TABLE IF EXISTS reg_old_credential;

CREATE TABLE reg_old_field_dict AS SELECT * FROM reg_expr_field_dict;
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
  extra_json            {json},
  effective_from        {instant} NOT NULL,
  effective_to          {instant},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1              {text 1} DEFAULT 'Y',
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_expr_field_dict__dim_from ON reg_expr_field_dict (provenance_id, endpoint_name, operation_type, field_key, effective_from, active_1);
CREATE INDEX idx_reg_expr_field_dict__dim_to ON reg_expr_field_dict (provenance_id, endpoint_name, operation_type, field_key, effective_to);
INSERT INTO reg_expr_field_dict (
  id, provenance_id, endpoint_name, operation_type, field_key, display_name, description, data_type_code,
  cardinality_code, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at,
  updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, field_key, display_name, description, data_type_code,
  cardinality_code, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at,
  updated_at, version
FROM reg_old_field_dict WHERE id NOT IN (SELECT id FROM reg_expr_field_dict);
DROP TABLE IF EXISTS reg_old_field_dict;

CREATE TABLE reg_old_api_param_map AS SELECT * FROM reg_prov_api_param_map;
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
  extra_json            {json},
  effective_from        {instant} NOT NULL,
  effective_to          {instant},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1              {text 1} DEFAULT 'Y',
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_api_param_map__dim_from ON reg_prov_api_param_map (provenance_id, endpoint_name, operation_type, std_key, effective_from, active_1);
CREATE INDEX idx_reg_prov_api_param_map__dim_to ON reg_prov_api_param_map (provenance_id, endpoint_name, operation_type, std_key, effective_to);
INSERT INTO reg_prov_api_param_map (
  id, provenance_id, endpoint_name, operation_type, std_key, provider_param_name, param_location_code, default_value,
  is_required, transform_code, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at,
  updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, std_key, provider_param_name, param_location_code, default_value,
  is_required, transform_code, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at,
  updated_at, version
FROM reg_old_api_param_map WHERE id NOT IN (SELECT id FROM reg_prov_api_param_map);
DROP TABLE IF EXISTS reg_old_api_param_map;

CREATE TABLE reg_old_expr_capability AS SELECT * FROM reg_prov_expr_capability;
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
  created_at                  {instant} NOT NULL,
  updated_at                  {instant} NOT NULL,
  version                     {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_expr_capability__dim_from ON reg_prov_expr_capability (provenance_id, endpoint_name, operation_type, field_key, effective_from, active_1);
CREATE INDEX idx_reg_prov_expr_capability__dim_to ON reg_prov_expr_capability (provenance_id, endpoint_name, operation_type, field_key, effective_to);
INSERT INTO reg_prov_expr_capability (
  id, provenance_id, endpoint_name, operation_type, field_key, ops, negatable_ops, supports_not, term_matches,
  term_case_sensitive_allowed, term_allow_blank, term_min_len, term_max_len, term_pattern, in_max_size,
  in_case_sensitive_allowed, range_kind_code, range_allow_open_start, range_allow_open_end,
  range_allow_closed_at_infty, range_min, range_max, whole_numbers, exists_supported, token_kinds,
  token_value_pattern, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at,
  updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, field_key, ops, negatable_ops, supports_not, term_matches,
  term_case_sensitive_allowed, term_allow_blank, term_min_len, term_max_len, term_pattern, in_max_size,
  in_case_sensitive_allowed, range_kind_code, range_allow_open_start, range_allow_open_end,
  range_allow_closed_at_infty, range_min, range_max, whole_numbers, exists_supported, token_kinds,
  token_value_pattern, extra_json, effective_from, effective_to, lifecycle_status_code, active_1, created_at,
  updated_at, version
FROM reg_old_expr_capability WHERE id NOT IN (SELECT id FROM reg_prov_expr_capability);
DROP TABLE IF EXISTS reg_old_expr_capability;

CREATE TABLE reg_old_expr_render_rule AS SELECT * FROM reg_prov_expr_render_rule;
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
  bounds_code           {text 16},
  bound_precision_code  {text 16},
  bound_format          {text 64},
  extra_json            {json},
  effective_from        {instant} NOT NULL,
  effective_to          {instant},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  active_1              {text 1} DEFAULT 'Y',
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_expr_render_rule__dim_from ON reg_prov_expr_render_rule (provenance_id, endpoint_name, operation_type, rule_name, effective_from, active_1);
CREATE INDEX idx_reg_prov_expr_render_rule__dim_to ON reg_prov_expr_render_rule (provenance_id, endpoint_name, operation_type, rule_name, effective_to);
INSERT INTO reg_prov_expr_render_rule (
  id, provenance_id, endpoint_name, operation_type, rule_name, field_key, op_code, match_type_code, negated,
  value_type_code, emit_type_code, template, item_template, joiner, wrap_group, params, bounds_code,
  bound_precision_code, bound_format, extra_json, effective_from, effective_to, lifecycle_status_code, active_1,
  created_at, updated_at, version
) SELECT
  id, provenance_id, endpoint_name, operation_type, rule_name, field_key, op_code, match_type_code, negated,
  value_type_code, emit_type_code, template, item_template, joiner, wrap_group, params, bounds_code,
  bound_precision_code, bound_format, extra_json, effective_from, effective_to, lifecycle_status_code, active_1,
  created_at, updated_at, version
FROM reg_old_expr_render_rule WHERE id NOT IN (SELECT id FROM reg_prov_expr_render_rule);
DROP TABLE IF EXISTS reg_old_expr_render_rule;

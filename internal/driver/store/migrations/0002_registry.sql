-- What is known about sources: the dictionary of codes, the settings of sources, the expression tables.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.
--
-- A row of a reg_prov_* table is one dated version [effective_from, effective_to) of one level of a source:
-- endpoint_name '' is every endpoint, operation_type ALL is every operation. Levels are merged field by field, so
-- a row may hold part of a section: columns are null where the level says nothing, and required keys are checked
-- on the merged result. A setting without a column of its own, or one that does not fit its column exactly, is in
-- extra_json.

-- One row per list of codes.
CREATE TABLE sys_dict_type (
  id                 {id},
  type_code          {text 64} NOT NULL,
  type_name          {text 200} NOT NULL,
  description        {text 500},
  allow_custom_items {bool} NOT NULL DEFAULT 0,
  is_system          {bool} NOT NULL DEFAULT 1,
  reserved_json      {json},
  record_remarks     {json},
  created_at         {instant} NOT NULL,
  updated_at         {instant} NOT NULL,
  version            {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_sys_dict_type__code ON sys_dict_type (type_code);

-- One code of a list. default_key is type_id for the default item and null for the others, so that a
-- list has at most one default. The program writes it; there are no generated columns.
CREATE TABLE sys_dict_item (
  id              {id},
  type_id         {int} NOT NULL,
  item_code       {text 64} NOT NULL,
  item_name       {text 200} NOT NULL,
  short_name      {text 64},
  description     {text 500},
  display_order   {int} NOT NULL DEFAULT 100,
  is_default      {bool} NOT NULL DEFAULT 0,
  enabled         {bool} NOT NULL DEFAULT 1,
  label_color     {text 32},
  icon_name       {text 64},
  attributes_json {json},
  default_key     {int},
  record_remarks  {json},
  created_at      {instant} NOT NULL,
  updated_at      {instant} NOT NULL,
  version         {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_sys_dict_item__type_code ON sys_dict_item (type_id, item_code);
CREATE UNIQUE INDEX uk_sys_dict_item__default_per_type ON sys_dict_item (default_key);
CREATE INDEX idx_sys_dict_item__type_enabled ON sys_dict_item (type_id, enabled, display_order);

-- An older or foreign code of an item. Codes are unique only within a list, so the list is part of the key.
CREATE TABLE sys_dict_item_alias (
  id             {id},
  item_id        {int} NOT NULL,
  type_id        {int} NOT NULL,
  source_system  {text 64} NOT NULL,
  external_code  {text 128} NOT NULL,
  external_label {text 200},
  notes          {text 500},
  record_remarks {json},
  created_at     {instant} NOT NULL,
  updated_at     {instant} NOT NULL,
  version        {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_dict_alias__src_code ON sys_dict_item_alias (source_system, type_id, external_code);
CREATE INDEX idx_dict_alias__item ON sys_dict_item_alias (item_id, source_system);

-- The root row of a source.
CREATE TABLE reg_provenance (
  id                    {id},
  provenance_code       {text 64} NOT NULL,
  provenance_name       {text 128} NOT NULL,
  base_url_default      {text 512},
  timezone_default      {text 64} NOT NULL DEFAULT 'UTC',
  docs_url              {text 512},
  is_active             {bool} NOT NULL DEFAULT 1,
  extra_json            {json},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  record_remarks        {json},
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_provenance_code ON reg_provenance (provenance_code);

-- An endpoint, and the request sent to it.
CREATE TABLE reg_prov_endpoint_def (
  id                    {id},
  provenance_id         {int} NOT NULL,
  endpoint_name         {text 64} NOT NULL DEFAULT '',
  operation_type        {text 32} NOT NULL DEFAULT 'ALL',
  endpoint_usage_code   {text 32},
  http_method_code      {text 8},
  path_template         {text 512},
  default_query_params  {json},
  default_body_payload  {json},
  request_content_type  {text 64},
  is_auth_required      {bool} NOT NULL DEFAULT 0,
  credential_hint_name  {text 64},
  page_param_name       {text 64},
  page_size_param_name  {text 64},
  cursor_param_name     {text 64},
  ids_param_name        {text 64},
  extra_json            {json},
  effective_from        {instant} NOT NULL,
  effective_to          {instant},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  record_remarks        {json},
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_endpoint_def__dim_from ON reg_prov_endpoint_def (provenance_id, endpoint_name, operation_type, effective_from);
CREATE INDEX idx_reg_prov_endpoint_def__dim_to ON reg_prov_endpoint_def (provenance_id, endpoint_name, operation_type, effective_to);
CREATE INDEX idx_reg_prov_endpoint_def__usage ON reg_prov_endpoint_def (endpoint_usage_code);

-- The window of a plan, the date it follows and how it is cut.
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
  record_remarks          {json},
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_window_offset_cfg__dim_from ON reg_prov_window_offset_cfg (provenance_id, endpoint_name, operation_type, effective_from);
CREATE INDEX idx_reg_prov_window_offset_cfg__dim_to ON reg_prov_window_offset_cfg (provenance_id, endpoint_name, operation_type, effective_to);

-- How the upstream pages, and what a page says about the next one.
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
  has_more_jsonpath       {text 512},
  total_count_jsonpath    {text 512},
  next_cursor_xpath       {text 512},
  has_more_xpath          {text 512},
  total_count_xpath       {text 512},
  extra_json              {json},
  effective_from          {instant} NOT NULL,
  effective_to            {instant},
  lifecycle_status_code   {text 32} NOT NULL DEFAULT 'ACTIVE',
  record_remarks          {json},
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_pagination_cfg__dim_from ON reg_prov_pagination_cfg (provenance_id, endpoint_name, operation_type, effective_from);
CREATE INDEX idx_reg_prov_pagination_cfg__dim_to ON reg_prov_pagination_cfg (provenance_id, endpoint_name, operation_type, effective_to);

-- Transport.
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
  tls_verify_enabled      {bool} NOT NULL DEFAULT 1,
  proxy_url_value         {text 512},
  accept_compress_enabled {bool} NOT NULL DEFAULT 1,
  prefer_http2_enabled    {bool} NOT NULL DEFAULT 0,
  retry_after_policy_code {text 32},
  retry_after_cap_millis  {int},
  idempotency_header_name {text 64},
  idempotency_ttl_seconds {int},
  extra_json              {json},
  effective_from          {instant} NOT NULL,
  effective_to            {instant},
  lifecycle_status_code   {text 32} NOT NULL DEFAULT 'ACTIVE',
  record_remarks          {json},
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_http_cfg__dim_from ON reg_prov_http_cfg (provenance_id, endpoint_name, operation_type, effective_from);
CREATE INDEX idx_reg_prov_http_cfg__dim_to ON reg_prov_http_cfg (provenance_id, endpoint_name, operation_type, effective_to);

-- Batched detail requests.
CREATE TABLE reg_prov_batching_cfg (
  id                             {id},
  provenance_id                  {int} NOT NULL,
  endpoint_name                  {text 64} NOT NULL DEFAULT '',
  operation_type                 {text 32} NOT NULL DEFAULT 'ALL',
  detail_fetch_batch_size        {int},
  credential_name                {text 64},
  ids_param_name                 {text 64},
  ids_join_delimiter             {text 8} DEFAULT ',',
  max_ids_per_request            {int},
  prefer_compact_payload         {bool} NOT NULL DEFAULT 1,
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
  record_remarks                 {json},
  created_at                     {instant} NOT NULL,
  updated_at                     {instant} NOT NULL,
  version                        {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_batching_cfg__dim_from ON reg_prov_batching_cfg (provenance_id, endpoint_name, operation_type, effective_from);
CREATE INDEX idx_reg_prov_batching_cfg__dim_to ON reg_prov_batching_cfg (provenance_id, endpoint_name, operation_type, effective_to);

-- Retries of one request, back-off and circuit breaker. max_retry_times does not count the first try.
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
  retry_on_network_error   {bool} NOT NULL DEFAULT 1,
  circuit_break_threshold  {int},
  circuit_cooldown_millis  {int},
  extra_json               {json},
  effective_from           {instant} NOT NULL,
  effective_to             {instant},
  lifecycle_status_code    {text 32} NOT NULL DEFAULT 'ACTIVE',
  record_remarks           {json},
  created_at               {instant} NOT NULL,
  updated_at               {instant} NOT NULL,
  version                  {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_retry_cfg__dim_from ON reg_prov_retry_cfg (provenance_id, endpoint_name, operation_type, effective_from);
CREATE INDEX idx_reg_prov_retry_cfg__dim_to ON reg_prov_retry_cfg (provenance_id, endpoint_name, operation_type, effective_to);

-- Rate and concurrency. Rates are doubles: some sources allow less than one request a second.
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
  record_remarks                {json},
  created_at                    {instant} NOT NULL,
  updated_at                    {instant} NOT NULL,
  version                       {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_rate_limit_cfg__dim_from ON reg_prov_rate_limit_cfg (provenance_id, endpoint_name, operation_type, effective_from);
CREATE INDEX idx_reg_prov_rate_limit_cfg__dim_to ON reg_prov_rate_limit_cfg (provenance_id, endpoint_name, operation_type, effective_to);

-- Where things are in an answer. Paths are RFC 9535; those of an item start at the item.
CREATE TABLE reg_prov_response_cfg (
  id                    {id},
  provenance_id         {int} NOT NULL,
  endpoint_name         {text 64} NOT NULL DEFAULT '',
  operation_type        {text 32} NOT NULL DEFAULT 'ALL',
  items_jsonpath        {text 512},
  id_jsonpath           {text 512},
  id_case_code          {text 16},
  updated_at_jsonpath   {text 512},
  filtered_jsonpath     {text 512},
  version_jsonpath      {text 512},
  must_have_json        {json},
  volatile_json         {json},
  fields_json           {json},
  required_json         {json},
  max_reject_ratio      {double},
  extra_json            {json},
  effective_from        {instant} NOT NULL,
  effective_to          {instant},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  record_remarks        {json},
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_response_cfg__dim_from ON reg_prov_response_cfg (provenance_id, endpoint_name, operation_type, effective_from);
CREATE INDEX idx_reg_prov_response_cfg__dim_to ON reg_prov_response_cfg (provenance_id, endpoint_name, operation_type, effective_to);

-- A credential of a source; several may be valid at once, for rotation. Only references to secrets are
-- stored, never values (I12). preferred_1 is Y for the preferred one while it is valid, else null.
CREATE TABLE reg_prov_credential (
  id                      {id},
  provenance_id           {int} NOT NULL,
  endpoint_name           {text 64} NOT NULL DEFAULT '',
  operation_type          {text 32} NOT NULL DEFAULT 'ALL',
  credential_name         {text 64} NOT NULL,
  auth_type               {text 32} NOT NULL,
  inbound_location_code   {text 16} NOT NULL,
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
  extra_json              {json},
  is_default_preferred    {bool} NOT NULL DEFAULT 0,
  preferred_1             {text 1},
  effective_from          {instant} NOT NULL,
  effective_to            {instant},
  lifecycle_status_code   {text 32} NOT NULL DEFAULT 'ACTIVE',
  record_remarks          {json},
  created_at              {instant} NOT NULL,
  updated_at              {instant} NOT NULL,
  version                 {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_reg_prov_credential__preferred_one ON reg_prov_credential (provenance_id, endpoint_name, operation_type, preferred_1);
CREATE INDEX idx_reg_prov_credential__dim ON reg_prov_credential (provenance_id, endpoint_name, operation_type, credential_name);
CREATE INDEX idx_reg_prov_credential__effective ON reg_prov_credential (effective_from, effective_to);

-- The query fields every source is asked with.
CREATE TABLE reg_expr_field_dict (
  id               {id},
  field_key        {text 64} NOT NULL,
  display_name     {text 128},
  description      {text 255},
  data_type_code   {text 32} NOT NULL,
  cardinality_code {text 16} NOT NULL DEFAULT 'SINGLE',
  exposable        {bool} NOT NULL DEFAULT 1,
  is_date          {bool} NOT NULL DEFAULT 0,
  record_remarks   {json},
  created_at       {instant} NOT NULL,
  updated_at       {instant} NOT NULL,
  version          {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_expr_field_key ON reg_expr_field_dict (field_key);
CREATE INDEX idx_expr_field__updated ON reg_expr_field_dict (updated_at);

-- A standard key and the parameter a source calls it.
CREATE TABLE reg_prov_api_param_map (
  id                    {id},
  provenance_id         {int} NOT NULL,
  endpoint_name         {text 64} NOT NULL DEFAULT '',
  operation_type        {text 32} NOT NULL DEFAULT 'ALL',
  operation_code        {text 32} NOT NULL,
  std_key               {text 64} NOT NULL,
  provider_param_name   {text 64} NOT NULL,
  transform_code        {text 64},
  notes                 {json},
  effective_from        {instant} NOT NULL,
  effective_to          {instant},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  record_remarks        {json},
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_param_map__dim_from ON reg_prov_api_param_map (provenance_id, endpoint_name, operation_type, operation_code, std_key, effective_from);
CREATE INDEX idx_param_map_lookup ON reg_prov_api_param_map (provenance_id, operation_code, std_key);
CREATE INDEX idx_param_map_rev ON reg_prov_api_param_map (provenance_id, operation_code, provider_param_name);
CREATE INDEX idx_param_map_updated ON reg_prov_api_param_map (updated_at);

-- Which operators a source takes on a field, and within which limits. A length or size of 0 is no limit.
-- Dates are yyyy-MM-dd and numbers decimal text: 38 digits fit no number type both databases have.
CREATE TABLE reg_prov_expr_capability (
  id                          {id},
  provenance_id               {int} NOT NULL,
  endpoint_name               {text 64} NOT NULL DEFAULT '',
  operation_type              {text 32} NOT NULL DEFAULT 'ALL',
  field_key                   {text 64} NOT NULL,
  ops                         {json} NOT NULL,
  negatable_ops               {json},
  supports_not                {bool} NOT NULL DEFAULT 1,
  term_matches                {json},
  term_case_sensitive_allowed {bool} NOT NULL DEFAULT 0,
  term_allow_blank            {bool} NOT NULL DEFAULT 0,
  term_min_len                {int} NOT NULL DEFAULT 0,
  term_max_len                {int} NOT NULL DEFAULT 0,
  term_pattern                {text 255},
  in_max_size                 {int} NOT NULL DEFAULT 0,
  in_case_sensitive_allowed   {bool} NOT NULL DEFAULT 0,
  range_kind_code             {text 16} NOT NULL DEFAULT 'NONE',
  range_allow_open_start      {bool} NOT NULL DEFAULT 1,
  range_allow_open_end        {bool} NOT NULL DEFAULT 1,
  range_allow_closed_at_infty {bool} NOT NULL DEFAULT 0,
  date_min                    {text 10},
  date_max                    {text 10},
  datetime_min                {instant},
  datetime_max                {instant},
  number_min                  {text 52},
  number_max                  {text 52},
  exists_supported            {bool} NOT NULL DEFAULT 0,
  token_kinds                 {json},
  token_value_pattern         {text 255},
  effective_from              {instant} NOT NULL,
  effective_to                {instant},
  lifecycle_status_code       {text 32} NOT NULL DEFAULT 'ACTIVE',
  record_remarks              {json},
  created_at                  {instant} NOT NULL,
  updated_at                  {instant} NOT NULL,
  version                     {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_cap__dim_from ON reg_prov_expr_capability (provenance_id, endpoint_name, operation_type, field_key, effective_from);
CREATE INDEX idx_cap_lookup ON reg_prov_expr_capability (provenance_id, field_key);
CREATE INDEX idx_cap_updated ON reg_prov_expr_capability (updated_at);

-- How one kind of condition becomes query text or parameters. The *_key columns repeat what stands before
-- them with ANY for null, because a unique key treats nulls as different. The program writes them.
CREATE TABLE reg_prov_expr_render_rule (
  id                    {id},
  provenance_id         {int} NOT NULL,
  endpoint_name         {text 64} NOT NULL DEFAULT '',
  operation_type        {text 32} NOT NULL DEFAULT 'ALL',
  field_key             {text 64} NOT NULL,
  op_code               {text 16} NOT NULL,
  match_type_code       {text 16},
  match_type_key        {text 16} NOT NULL DEFAULT 'ANY',
  negated               {bool},
  negated_key           {text 3} NOT NULL DEFAULT 'ANY',
  value_type_code       {text 16},
  value_type_key        {text 16} NOT NULL DEFAULT 'ANY',
  emit_type_code        {text 8} NOT NULL DEFAULT 'QUERY',
  template              {longtext},
  item_template         {longtext},
  joiner                {text 32},
  wrap_group            {bool} NOT NULL DEFAULT 0,
  params                {json},
  fn_code               {text 64},
  effective_from        {instant} NOT NULL,
  effective_to          {instant},
  lifecycle_status_code {text 32} NOT NULL DEFAULT 'ACTIVE',
  record_remarks        {json},
  created_at            {instant} NOT NULL,
  updated_at            {instant} NOT NULL,
  version               {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_render__dim_from ON reg_prov_expr_render_rule (provenance_id, endpoint_name, operation_type, field_key, op_code, match_type_key, negated_key, value_type_key, emit_type_code, effective_from);
CREATE INDEX idx_render_lookup ON reg_prov_expr_render_rule (provenance_id, field_key, op_code);
CREATE INDEX idx_render_updated ON reg_prov_expr_render_rule (updated_at);

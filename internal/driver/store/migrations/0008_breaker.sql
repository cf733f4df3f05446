-- Upstreams that fail again and again.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per endpoint whose last run failed because its upstream was in trouble. open_until is empty while runs go on.
CREATE TABLE ing_breaker (
  provenance_code  {text 64} NOT NULL,
  endpoint_name    {text 64} NOT NULL,
  failures         {int} NOT NULL,
  opened           {int} NOT NULL,
  open_until       {instant},
  last_error_code  {text 64},
  updated_at       {instant} NOT NULL,
  PRIMARY KEY (provenance_code, endpoint_name)
) {table};

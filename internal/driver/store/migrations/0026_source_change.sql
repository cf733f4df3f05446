-- When what may have made a source fail was changed last: windows that failed before that are tried again at once.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per scope and cause; an empty endpoint or operation stands for all of them. mark tells a changed secret from
-- the one before. It is a short, salted, slow hash, which no secret can be found from.
CREATE TABLE ing_source_change (
  provenance_code  {text 64} NOT NULL,
  endpoint_name    {text 64} NOT NULL,
  operation_code   {text 32} NOT NULL,
  cause_code       {text 16} NOT NULL,
  changed_at       {instant} NOT NULL,
  mark             {text 64},
  PRIMARY KEY (provenance_code, endpoint_name, operation_code, cause_code)
) {table};

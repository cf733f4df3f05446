-- What the answers of a source tell about themselves, summed by day, so that a disagreement is seen (D§5.11, D§5.15).
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- dated_items are the items with a date the filter selects by; apart counts those outside of the request by how far they
-- lie outside (core/skew). lists are slices read to their end whose total is an estimate, short_lists those of them
-- that brought fewer items than the estimate; announced_items and delivered_items are the sums of the short ones. What
-- was read under another snapshot is counted apart: a changed source file starts anew.
CREATE TABLE ing_answer_check (
  provenance_code  {text 64} NOT NULL,
  endpoint_name    {text 64} NOT NULL,
  operation_code   {text 32} NOT NULL,
  day_no           {int} NOT NULL,
  spec_fingerprint {hash} NOT NULL,
  dated_items      {int} NOT NULL DEFAULT 0,
  apart            {json},
  lists            {int} NOT NULL DEFAULT 0,
  short_lists      {int} NOT NULL DEFAULT 0,
  announced_items  {int} NOT NULL DEFAULT 0,
  delivered_items  {int} NOT NULL DEFAULT 0,
  measured_at      {instant} NOT NULL,
  PRIMARY KEY (provenance_code, endpoint_name, operation_code, day_no, spec_fingerprint)
) {table};

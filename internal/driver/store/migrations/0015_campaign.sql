-- Backfills that are worked on part by part, for as long as it takes.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per campaign. What it has done is the coverage of its cursor, and the plans on that cursor are its parts.
-- actor, reason and since say who brought it into its state.
CREATE TABLE ing_campaign (
  id               {id},
  name             {text 64} NOT NULL,
  cursor_id        {int} NOT NULL,
  provenance_code  {text 64} NOT NULL,
  endpoint_name    {text 64} NOT NULL,
  expr_proto_hash  {hash} NOT NULL,
  range_from       {instant} NOT NULL,
  range_to         {instant} NOT NULL,
  typed            {text 256},
  order_code       {text 16} NOT NULL,
  chunk_us         {int} NOT NULL,
  overrides        {json},
  state_code       {text 16} NOT NULL,
  actor            {text 128} NOT NULL,
  reason           {text 512},
  since            {instant} NOT NULL,
  note             {text 2000},
  created_at       {instant} NOT NULL,
  updated_at       {instant} NOT NULL,
  version          {int} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_campaign_name ON ing_campaign (name);
CREATE UNIQUE INDEX uk_campaign_cursor ON ing_campaign (cursor_id);
CREATE INDEX idx_campaign_state ON ing_campaign (state_code);
CREATE INDEX idx_plan_cursor ON ing_plan (cursor_id, status_code);

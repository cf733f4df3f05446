-- Alerts: which findings were seen and told, the messages about them, and silences.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per alert and rule, from its first sight to its end. A row that has ended has no live_1, so that the same
-- alert can begin anew beside it.
CREATE TABLE ing_alert (
  id                 {id},
  rule_name          {text 64} NOT NULL,
  alert_key          {hash} NOT NULL,
  live_1             {text 1},
  provenance_code    {text 64},
  status_code        {text 16} NOT NULL,
  alert_json         {json} NOT NULL,
  seen_at            {instant} NOT NULL,
  absent_at          {instant},
  told_at            {instant},
  told_severity_code {text 16},
  told_count         {int} NOT NULL,
  ended_at           {instant}
) {table};
CREATE UNIQUE INDEX uk_alert ON ing_alert (rule_name, alert_key, live_1);
CREATE INDEX idx_alert_live ON ing_alert (live_1);
CREATE INDEX idx_alert_source ON ing_alert (provenance_code);

-- One row per message and receiver, written together with what it tells of. It is sent afterwards, with the same id
-- however often.
CREATE TABLE ing_alert_message (
  id            {id},
  message_id    {text 64} NOT NULL,
  receiver_name {text 64} NOT NULL,
  status_code   {text 16} NOT NULL,
  message_json  {json} NOT NULL,
  tries         {int} NOT NULL,
  due_at        {instant},
  error_msg     {text 512},
  queued_at     {instant} NOT NULL,
  sent_at       {instant}
) {table};
CREATE UNIQUE INDEX uk_alert_message ON ing_alert_message (message_id, receiver_name);
CREATE INDEX idx_alert_message_status ON ing_alert_message (status_code, receiver_name);

-- What keeps alerts from being told until an instant.
CREATE TABLE ing_alert_silence (
  id              {id},
  finding_code    {text 64},
  provenance_code {text 64},
  campaign_name   {text 128},
  until_at        {instant} NOT NULL,
  reason          {text 512} NOT NULL,
  actor           {text 128} NOT NULL,
  created_at      {instant} NOT NULL,
  removed_at      {instant}
) {table};
CREATE INDEX idx_alert_silence_until ON ing_alert_silence (until_at);

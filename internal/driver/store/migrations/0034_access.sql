-- Who may use the HTTP interface: access tokens and the sessions of browsers that logged in with one.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per access token. The token itself is kept nowhere, only its hash.
CREATE TABLE ing_access_token (
  id           {id},
  token_hash   {hash} NOT NULL,
  token_name   {text 64} NOT NULL,
  role_name    {text 16} NOT NULL,
  sources_json {json} NOT NULL,
  actor        {text 128} NOT NULL,
  created_at   {instant} NOT NULL,
  expires_at   {instant} NOT NULL,
  used_at      {instant},
  revoked_at   {instant}
) {table};
CREATE UNIQUE INDEX uk_access_token ON ing_access_token (token_hash);
CREATE INDEX idx_access_token_name ON ing_access_token (token_name);
CREATE INDEX idx_access_token_expires ON ing_access_token (expires_at);

-- One row per browser that logged in. A session ends with its token.
CREATE TABLE ing_access_session (
  id           {id},
  session_hash {hash} NOT NULL,
  token_id     {int} NOT NULL,
  created_at   {instant} NOT NULL,
  seen_at      {instant} NOT NULL,
  ended_at     {instant}
) {table};
CREATE UNIQUE INDEX uk_access_session ON ing_access_session (session_hash);
CREATE INDEX idx_access_session_token ON ing_access_session (token_id);
CREATE INDEX idx_access_session_created ON ing_access_session (created_at);

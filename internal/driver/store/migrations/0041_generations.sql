-- Readings of lists that are read whole (decision 108).
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per reading. as_of is that of its plan: the list is known as of then if the state is COMPLETE or ACCEPTED.
-- base_id is the first of the SHRUNK readings in a row that show the same. is_kept: its ids are there.
-- id_count is how many of them lie in ing_generation_ids; the same id may be there more than once.
CREATE TABLE ing_generation (
  id         {id},
  slice_id   {int} NOT NULL,
  cursor_id  {int} NOT NULL,
  as_of      {instant} NOT NULL,
  state_code {text 16} NOT NULL,
  is_kept    {bool} NOT NULL,
  base_id    {int} NOT NULL,
  id_count   {int} NOT NULL,
  items      {int} NOT NULL,
  last_items {int} NOT NULL,
  last_kept  {int} NOT NULL,
  vanished   {int} NOT NULL,
  gone       {int} NOT NULL,
  held       {text 512},
  why        {text 1024},
  ended_at   {instant},
  created_at {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_generation_slice ON ing_generation (slice_id);
CREATE INDEX idx_generation_cursor ON ing_generation (cursor_id, id);
CREATE INDEX idx_generation_sweep ON ing_generation (is_kept, id_count);

-- The ids of a page, 8 bytes of the hash of each, beside the batch that brought them. unnamed is how many of its items
-- had no id that could be read.
CREATE TABLE ing_generation_ids (
  generation_id {int} NOT NULL,
  batch_id      {int} NOT NULL,
  pass          {int} NOT NULL,
  unnamed       {int} NOT NULL,
  ids           {blob} NOT NULL,
  PRIMARY KEY (generation_id, batch_id)
) {clustered};

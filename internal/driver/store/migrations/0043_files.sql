-- Files of sources whose records lie in files (decision 118).
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per file that a listing named. version tells this file from another one of the same name; it is empty if the
-- listing says nothing that would. read_version and read_as_of are of the last time it was wholly read: a file is owed
-- while they are missing, or differ from version. validator is what the server calls that content.
CREATE TABLE ing_file (
  id           {id},
  cursor_id    {int} NOT NULL,
  name_hash    {binary 16} NOT NULL,
  name         {text 2000} NOT NULL,
  address      {text 2000} NOT NULL,
  stamp        {instant},
  byte_count   {int} NOT NULL,
  line_count   {int} NOT NULL,
  checksum     {text 80},
  version      {text 64} NOT NULL,
  first_listed {instant} NOT NULL,
  last_listed  {instant} NOT NULL,
  read_version {text 64},
  read_as_of   {instant},
  read_items   {int} NOT NULL,
  read_bytes   {int} NOT NULL,
  validator    {text 512},
  updated_at   {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_file_name ON ing_file (cursor_id, name_hash);

-- What looks at a source need of its definition, so that they need not read and compile it.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per source and program that made it: two programs may compile one definition otherwise. It is of one version
-- of the source, until an instant at which a scheduled one begins. The seal is over all of it: a row that is of another
-- version or was damaged is not believed, and made anew. Nothing depends on a row being there.
CREATE TABLE reg_outline (
  provenance_code {text 64} NOT NULL,
  program_hash    {hash} NOT NULL,
  source_version  {int} NOT NULL,
  until_at        {instant},
  outline_json    {json} NOT NULL,
  seal_hash       {hash} NOT NULL,
  created_at      {instant} NOT NULL,
  PRIMARY KEY (provenance_code, program_hash)
) {clustered};

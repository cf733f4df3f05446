-- Which members of a pool of credentials served and which were refused (decision 141).
-- Column types are macros; see migrate.go.

-- members has for each credential of a pool when it last served and when it was last refused, by its name.
ALTER TABLE ing_answer_check ADD COLUMN
  members {json};

-- What finished slices really had, to estimate the next ones by.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per window, with what was found when it was last read to its end. span_log2 is the number of binary digits of
-- the window's length. Windows of one such class that reach into a stretch begin less than 2^span_log2 before it: a
-- range of the key, however long the history is.
CREATE TABLE ing_window_history (
  dataset_id     {int} NOT NULL,
  expr_id        {int} NOT NULL,
  span_log2      {int} NOT NULL,
  window_from    {instant} NOT NULL,
  window_to      {instant} NOT NULL,
  estimated      {int},
  estimate_code  {text 32},
  actual         {int} NOT NULL,
  requests       {int} NOT NULL,
  bytes          {int} NOT NULL,
  as_of          {instant} NOT NULL,
  run_id         {int} NOT NULL,
  PRIMARY KEY (dataset_id, expr_id, span_log2, window_from, window_to)
) {clustered};

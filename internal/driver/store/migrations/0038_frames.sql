-- Versions of records in frames: many of them packed as one, found by the range of their ids (decision 90).
-- Column types are macros; see migrate.go. Rows of ing_record_body stay readable; maintenance folds them into frames.

-- Ranges from frame_id to last_body_id never overlap, so the frame of a version is the last one that begins before it.
-- entries is read without content, so it stands before it.
CREATE TABLE ing_body_frame (
  frame_id      {int} NOT NULL,
  last_body_id  {int} NOT NULL,
  version_count {int} NOT NULL,
  codec         {text 8} NOT NULL,
  hash          {binary 32} NOT NULL,
  entries       {blob} NOT NULL,
  content       {blob} NOT NULL,
  PRIMARY KEY (frame_id)
) {table};

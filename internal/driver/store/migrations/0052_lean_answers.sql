-- Answers that are kept without their items, which are stored as versions already (decision 165).

CREATE TABLE ing_lean_answer (
  batch_id    {int} NOT NULL,
  answer_hash {binary 32} NOT NULL,
  byte_count  {int} NOT NULL,
  item_count  {int} NOT NULL,
  rest        {blob} NOT NULL,
  created_at  {instant} NOT NULL,
  PRIMARY KEY (batch_id)
) {table};
CREATE INDEX idx_lean_answer_hash ON ing_lean_answer (answer_hash);

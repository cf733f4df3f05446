-- Lists that were not in the order their file declares (decision 151).
-- Column types are macros; see migrate.go.

-- unsorted_lists are slices of a sorted list whose order was found broken, so that the whole list was read.
ALTER TABLE ing_answer_check ADD COLUMN
  unsorted_lists {int} NOT NULL DEFAULT 0;

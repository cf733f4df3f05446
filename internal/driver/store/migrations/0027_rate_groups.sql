-- Keys of rate groups begin with @, so that no group is the key of a source. Every key that is no source is a group.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

UPDATE ing_quota SET rate_key = SUBSTR(CONCAT('@', rate_key), 1, 64) WHERE rate_key NOT LIKE '@%' AND rate_key NOT IN (SELECT provenance_code FROM ing_partition);
UPDATE ing_quota_holder SET rate_key = SUBSTR(CONCAT('@', rate_key), 1, 64) WHERE rate_key NOT LIKE '@%' AND rate_key NOT IN (SELECT provenance_code FROM ing_partition);
UPDATE ing_rate_pause SET rate_key = SUBSTR(CONCAT('@', rate_key), 1, 64) WHERE rate_key NOT LIKE '@%' AND rate_key NOT IN (SELECT provenance_code FROM ing_partition);
UPDATE ing_rate_slot SET rate_key = SUBSTR(CONCAT('@', rate_key), 1, 64) WHERE rate_key NOT LIKE '@%' AND rate_key NOT IN (SELECT provenance_code FROM ing_partition);
UPDATE ing_partition SET rate_key = SUBSTR(CONCAT('@', rate_key), 1, 64) WHERE rate_key NOT LIKE '@%' AND rate_key <> provenance_code;

-- When a person has released a key. Processes that keep a pause or a used-up quota of it in memory look here.
ALTER TABLE ing_rate_pause ADD COLUMN
  released_at {instant};

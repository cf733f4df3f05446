-- What a schedule has fired.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per schedule that a planner follows: the newest tick that became a trigger, or when the schedule was first
-- seen. Ticks after last_tick are owed. missed is how many older ticks were coalesced into the last one.
CREATE TABLE ing_schedule_state (
  schedule_name        {text 160} NOT NULL,
  last_tick            {instant} NOT NULL,
  missed               {int} NOT NULL DEFAULT 0,
  schedule_instance_id {int},
  followed_since       {instant} NOT NULL,
  updated_at           {instant} NOT NULL,
  PRIMARY KEY (schedule_name)
) {table};

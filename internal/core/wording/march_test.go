package wording

import "time"

func march(day int) time.Time { return time.Date(2025, 3, day, 0, 0, 0, 0, time.UTC) }

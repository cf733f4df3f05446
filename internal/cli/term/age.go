package term

import (
	"fmt"
	"time"
)

// DurationText writes a stretch of time for people, with its two largest units at most.
func DurationText(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 0 {
		return "-" + DurationText(-d)
	}
	for _, u := range []struct {
		unit, part time.Duration
		name, rest string
	}{{365 * day, day, "y", "d"}, {day, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "m"}, {time.Minute, time.Second, "m", "s"}} {
		if d < u.unit {
			continue
		}
		text := fmt.Sprintf("%d%s", d/u.unit, u.name)
		if rest := d % u.unit / u.part; rest > 0 && d < 10*u.unit {
			text += fmt.Sprintf(" %d%s", rest, u.rest)
		}
		return text
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

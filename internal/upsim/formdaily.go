package upsim

import (
	"net/url"
	"time"
)

// dailyForm returns a list that knows no window, only one day: day=2024-03-01
// selects the works whose stamp lies on that day (UTC), oldest first. Whoever has a
// window of several days and sends its first one gets that one, and nothing tells.
func dailyForm() form { return form{name: "daily", how: byOffset, total: true, day: true} }

// parseDay reads the only date such a list takes.
func (q *formQuery) parseDay(params url.Values) error {
	text := params.Get("day")
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return &refusal{"date-not-valid", text, "day must be a date such as 2024-03-01."}
	}
	q.from, q.to = day.Unix(), day.AddDate(0, 0, 1).Unix()
	return nil
}

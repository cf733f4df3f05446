package ledger

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
)

// What had been read before is the second to the fourth of March, with the
// watermark at the noon of the fourth.
func TestWhatCountsAsLate(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2025, 3, n, 0, 0, 0, 0, time.UTC) }
	passed := window.Window{From: day(2), To: day(4).Add(12 * time.Hour)}
	known := &record.Head{ProviderID: "id", UpdatedAt: day(1), FetchAt: day(1), Version: 1, State: record.Active, ContentHash: record.Digest{1}, MappingID: 7}
	item := func(at time.Time, content byte) record.Incoming {
		return record.Incoming{ProviderID: "id", UpdatedAt: at, ContentHash: record.Digest{content}, FetchAt: day(5), MappingID: 7}
	}
	date := func(at time.Time) record.Incoming {
		in := item(at, 2)
		in.UpdatedBefore = at.AddDate(0, 0, 1)
		return in
	}
	gone, remapped := item(day(3), 2), item(day(3), 2)
	gone.Gone, remapped.MappingID = true, 8
	for name, c := range map[string]struct {
		head   *record.Head
		in     record.Incoming
		passed window.Window
		want   int
	}{
		"new behind the watermark":              {nil, item(day(3), 2), passed, 1},
		"changed behind the watermark":          {known, item(day(3), 2), passed, 1},
		"at the watermark":                      {nil, item(passed.To, 2), passed, 0},
		"just before the watermark":             {nil, item(passed.To.Add(-1e3), 2), passed, 1},
		"where reading began":                   {nil, item(day(2), 2), passed, 1},
		"in time that was never read":           {nil, item(day(2).Add(-1e3), 2), passed, 0},
		"new time":                              {nil, item(day(6), 2), passed, 0},
		"only the stamp moved":                  {known, item(day(3), 1), passed, 0},
		"deleted behind the watermark":          {known, gone, passed, 0},
		"read with another mapping":             {known, remapped, passed, 0},
		"new, read with another mapping":        {nil, remapped, passed, 1},
		"without a stamp":                       {nil, item(time.Time{}, 2), passed, 0},
		"a date whose day is over":              {nil, date(day(3)), passed, 1},
		"a date whose day the watermark is in":  {nil, date(day(4)), passed, 0},
		"a first harvest, nothing is behind it": {nil, item(day(3), 2), window.Window{}, 0},
	} {
		prepared := preparedRecord{Incoming: c.in, key: record.KeyOf("id")}
		heads := map[record.Key]*record.Head{}
		if c.head != nil {
			heads[prepared.key] = c.head
		}
		var stats ingest.BatchStats
		decideRecords([]preparedRecord{prepared}, heads, ingest.BatchCommit{Passed: c.passed}, &stats)
		if stats.Seen = 1; stats.Late != c.want || !stats.Balanced() {
			t.Errorf("%s: %+v, want %d late", name, stats, c.want)
		}
	}
}

package coverage

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

func TestFits(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2025, 3, n, 0, 0, 0, 0, time.UTC) }
	at := func(n int) *time.Time {
		if n == 0 {
			return nil
		}
		d := day(n)
		return &d
	}
	span := func(from, to int) []window.Window { return []window.Window{{From: day(from), To: day(to)}} }
	read := Refold([]Event{
		{Kind: Planned, Windows: span(3, 9), AsOf: day(10)}, {Kind: Succeeded, Windows: span(3, 9), AsOf: day(10)},
	})
	owing := Fold(Fold(read, Event{Kind: Planned, Windows: span(5, 6), AsOf: day(11)}), Event{Kind: Failed, Windows: span(5, 6), AsOf: day(11), At: day(11)})
	setBack := Fold(read, Event{Kind: Manual, Value: day(5)})
	for name, c := range map[string]struct {
		book     State
		from, to int
		want     Asked
	}{
		"a first harvest":                     {State{}, 1, 2, AskedOpen},
		"no window":                           {read, 0, 0, AskedOpen},
		"from the start on":                   {read, 3, 0, AskedOpen},
		"from inside on":                      {read, 5, 0, AskedOpen},
		"past the watermark":                  {read, 5, 12, AskedOpen},
		"before the start":                    {read, 2, 0, AskedBelow},
		"before the start and past the end":   {read, 2, 12, AskedBelow},
		"up to the start":                     {read, 0, 3, AskedBelow},
		"up to the watermark":                 {read, 0, 9, AskedRead},
		"inside":                              {read, 4, 6, AskedRead},
		"inside, beside what is owed":         {owing, 6, 8, AskedRead},
		"inside, with what is owed":           {owing, 4, 6, AskedOpen},
		"up to the watermark, something owed": {owing, 0, 9, AskedOpen},
		"set back, and up to there":           {setBack, 0, 5, AskedRead},
		"set back, and on":                    {setBack, 5, 8, AskedOpen},
		"set back, and below":                 {setBack, 4, 8, AskedBelow},
	} {
		if got := c.book.Fits(at(c.from), at(c.to)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

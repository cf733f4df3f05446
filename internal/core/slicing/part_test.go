package slicing

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/window"
	"pgregory.net/rapid"
)

// Parts tile what is owed (I1), are cut on the grid, and come to an end.
func TestPartsTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, _ := drawCase(t)
		r.NewestFirst = rapid.Bool().Draw(t, "newest first")
		n := rapid.IntRange(1, 50).Draw(t, "steps")
		for _, w := range r.Owed { // so that few rounds do
			n += int(w.Duration() / max(r.stepLength(), tick) / 20)
		}
		whole, all := r.Owed, []window.Window(nil)
		for rounds := 0; len(r.Owed) > 0; rounds++ {
			now, rest := r.Part(n)
			if len(now) == 0 || rounds > 1000 {
				t.Fatalf("nothing is taken of %v", r.Owed)
			}
			if r.NewestFirst && len(rest) > 0 && rest[len(rest)-1].To.After(now[0].From) || !r.NewestFirst && len(rest) > 0 && now[len(now)-1].To.After(rest[0].From) {
				t.Fatalf("%v is taken before %v", now, rest)
			}
			r.Owed = now
			if _, err := Cut(r); err != nil {
				t.Fatal(err)
			}
			all, r.Owed = append(all, now...), rest
		}
		for _, w := range all {
			for _, end := range []time.Time{w.From, w.To} {
				if !r.Grid(end).Equal(end) && !slices.ContainsFunc(whole, func(o window.Window) bool { return o.From.Equal(end) || o.To.Equal(end) }) {
					t.Fatalf("%v ends between two points of the grid", w)
				}
			}
		}
		var sum time.Duration
		for _, w := range all {
			sum += w.Duration()
		}
		for _, w := range whole {
			sum -= w.Duration()
		}
		if !slices.Equal(window.Union(all), window.Union(whole)) || sum != 0 {
			t.Fatalf("%v is not %v", all, whole)
		}
	})
}

// I14: a step that is far too short is refused before it costs any memory, and so
// are sizes that would have the same effect.
func TestTooManySlicesAreRefused(t *testing.T) {
	century := window.Window{From: time.Date(1925, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	for name, edit := range map[string]func(*Request){
		"a short step":    func(r *Request) { r.Config.Step = duration.Duration(time.Minute) },
		"a large target":  func(r *Request) { r.Config.PerDay, r.Config.TargetRecords = 1_000_000, 100 },
		"several windows": func(r *Request) { r.Owed, r.Config.Step = years(century), duration.Duration(30*time.Minute) },
		"longer than a duration": func(r *Request) {
			r.Config.Step, r.Owed = duration.Duration(5*time.Hour), []window.Window{{From: century.From.AddDate(-900, 0, 0), To: century.To}}
		},
	} {
		r := Request{Owed: []window.Window{century}, Grid: func(t time.Time) time.Time { return t.Truncate(time.Second) }, Config: Config{}.WithDefaults(), PageSize: 100, Paging: "TOKEN", Precision: "SECOND"}
		edit(&r)
		if out, err := Plan(r); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%s: %d slices, %v", name, len(out.Slices), err)
		}
	}
}

func years(w window.Window) (out []window.Window) {
	for at := w.From; at.Before(w.To); at = at.AddDate(1, 0, 0) {
		out = append(out, window.Window{From: at, To: at.AddDate(1, 0, -1)})
	}
	return out
}

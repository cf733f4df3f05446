package executor

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// sizes notes how large the pages were that were asked for.
func sizes(l *list, into *[]int) {
	inner := l.search
	l.search = func(l *list, r *http.Request, found []thing) any {
		*into = append(*into, number(r, "size"))
		return inner(l, r, found)
	}
}

func plain(n int) *list { return poisoned(n) }

// A condition that asks for smaller pages: every form takes them from the first
// page on, and nothing is left out.
func TestSmallerPagesFromTheStart(t *testing.T) {
	for name, reading := range map[string]string{"offset": byOffset + withTotal, "page": byNumber + withTotal, "token": bySizedToken + asIs} {
		var asked []int
		l := plain(40)
		sizes(l, &asked)
		w := byHand(t, l, reading)
		w.config.Health = bookWith(health.HeavyPages, 1)
		w.harvest()
		w.holds(l.things)
		if slices.ContainsFunc(asked, func(n int) bool { return n != 5 }) || len(asked) < 8 {
			t.Errorf("%s: pages of %v", name, asked)
		}
		runs, err := w.store.Runs(t.Context(), view.Filter{})
		w.must(err)
		if r := runs[0].Remarks; len(r) != 1 || r[0].Condition != health.HeavyPages || r[0].Text != "pages of 5 instead of 10" || runs[0].Stats.Actions.ShrinkPage != 1 {
			t.Errorf("%s: %+v", name, runs[0])
		}
	}
	var asked []int
	l := plain(40)
	sizes(l, &asked)
	w := byHand(t, l, byOffset+withTotal, "paging.fixedSize=true")
	w.config.Health = bookWith(health.HeavyPages, 1)
	w.harvest()
	w.holds(l.things)
	if slices.Contains(asked, 5) {
		t.Errorf("the size is fixed, and yet it changes: %v", asked)
	}
}

// A condition that comes up in the middle of a walk: only an offset changes at
// once. A page number or a token goes on as it began, and so does a later run
// that takes the walk up: the number means a place of that size.
func TestSmallerPagesInTheMiddle(t *testing.T) {
	for name, c := range map[string]struct {
		reading string
		want    string
	}{
		"offset": {byOffset + withTotal, "[10 10 10 5 5 5]"},
		"page":   {byNumber + withTotal, "[10 10 10 10 10]"},
		"token":  {bySizedToken + asIs, "[10 10 10 10 10]"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []int
			l := plain(45)
			book := bookWith("", 0)
			sizes(l, &asked)
			inner := l.search
			l.search = func(l *list, r *http.Request, found []thing) any {
				if l.calls["/list"] == 3 { // after this page pages are heavy
					of := ingest.Partition{Dataset: ingest.Dataset{Source: "hand", Endpoint: "works"}, Operation: ingest.Harvest}
					for len(book.Page(t.Context(), of, health.Sample{Requests: 1, Bytes: 9 << 20})) == 0 {
					}
				}
				return inner(l, r, found)
			}
			w := byHand(t, l, c.reading, "paging.stable=true")
			w.config.Health = book
			w.harvest()
			w.holds(l.things)
			if got := fmt.Sprint(asked); got != c.want {
				t.Errorf("pages of %s, want %s", got, c.want)
			}
		})
	}
}

// A run that takes up a walk by page numbers goes on with the size it was begun
// with, whatever is asked for by then.
func TestAPageNumberKeepsItsSize(t *testing.T) {
	var asked []int
	l := plain(45)
	sizes(l, &asked)
	broken := true
	inner := l.search
	l.search = func(l *list, r *http.Request, found []thing) any {
		if broken && number(r, "page") == 4 {
			return refusal(500)
		}
		return inner(l, r, found)
	}
	w := byHand(t, l, byNumber+withTotal)
	w.config.Health = bookWith(health.Slow, 1)
	w.planDay()
	first := w.claimAndRun()
	if first.Task != ingest.TaskScheduled || first.Stats.Pages != 3 {
		t.Fatalf("%+v", first)
	}
	broken = false
	w.config.Health = nil // whoever goes on knows nothing of it
	w.work()
	w.holds(l.things)
	if slices.Contains(asked, 10) {
		t.Errorf("pages of %v", asked)
	}
}

func (w *formWorld) claimAndRun() ingest.Outcome {
	w.Helper()
	w.claims++
	out, err := w.executor(w.store).Execute(w.Context(), w.claim("first"))
	w.must(err)
	return out
}

// An answer over the cap is asked for in smaller pages; the walk that cannot
// change begins again with them. One item over the cap is set aside where it can
// be alone, and fails loudly where it cannot.
func TestPagesThatAreTooLarge(t *testing.T) {
	fat := func(n int, items []thing, found []thing) any {
		answer := answered(items, found)
		answer["filler"] = strings.Repeat("x", n)
		return answer
	}
	for name, c := range map[string]struct {
		reading string
		weight  func(items []thing) int
		aside   int
		read    bool
	}{
		"offset":           {byOffset + withTotal, func(items []thing) int { return 300 * len(items) }, 0, true},
		"page":             {byNumber + withTotal, func(items []thing) int { return 300 * len(items) }, 0, true},
		"token":            {bySizedToken + asIs, func(items []thing) int { return 300 * len(items) }, 0, true},
		"offset, one item": {byOffset + withTotal, heavyThing, 1, true},
		"page, one item":   {byNumber + withTotal, heavyThing, 1, true},
		"token, one item":  {bySizedToken + asIs, heavyThing, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := &list{things: things(40)}
			l.search = func(_ *list, r *http.Request, found []thing) any {
				items := sized(r, found)
				return fat(c.weight(items), items, found)
			}
			w := byHand(t, l, c.reading, "http.maxBodyBytes=2000", "paging.stable=true", "slicing.minStep=PT12H")
			w.harvest()
			missing := w.missing(l.things)
			if len(w.aside()) != c.aside || w.believed() != c.read || c.read && len(missing) != c.aside {
				t.Errorf("missing %v, set aside %v, believed %v\n%s", missing, w.aside(), w.believed(), w.story())
			}
			w.checked()
		})
	}
}

func heavyThing(items []thing) int {
	if slices.ContainsFunc(items, func(t thing) bool { return t.ID == "t023" }) {
		return 5000
	}
	return 0
}

// What was done stands in the counters that everybody sees.
func TestActionsAreCounted(t *testing.T) {
	l := poisoned(40, "t017")
	w := byHand(t, l, byOffset+withTotal, "paging.stable=true")
	w.harvest()
	healed, err := w.store.Healed(t.Context())
	w.must(err)
	got := map[health.Action]int64{}
	for _, h := range healed {
		got[h.Action] = h.Times
	}
	if got[health.SetAside] != 1 || got[health.ShrinkPage] == 0 {
		t.Errorf("%v", got)
	}
}

// Far more items than expected: what is left of a sorted slice is cut (§12.2).
func TestAnEstimateThatIsFarOff(t *testing.T) {
	w := startForm(t, formNamed(t, "token"), 120, "", "paging.size=1", "window.ordered=true", "slicing.perDay=10", "slicing.step=P1D")
	w.harvest()
	w.whole()
	if first := w.outcomes[0]; first.Task != ingest.TaskPartial || first.Stats.Pages != 50 || !strings.Contains(first.Error, "were expected") {
		t.Errorf("%s", w.story())
	}
	runs, err := w.store.Runs(t.Context(), view.Filter{Limit: 100})
	w.must(err)
	if r := runs[len(runs)-1].Remarks; len(r) != 1 || r[0].Condition != health.EstimateOff || r[0].Action != health.Reslice {
		t.Errorf("%+v", r)
	}
}

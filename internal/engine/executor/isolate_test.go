package executor

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/heal"
)

const (
	byNumber = `
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}", page: "${page.number}", size: "${page.size}"}}
    paging: {type: PAGE, size: 10, base: 1, stable: true}
    response: {items: $.items, id: $.id, updatedAt: $.updated, filtered: $.updated`
	bySizedToken = `
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.token}", size: "${page.size}"}}
    paging: {type: TOKEN, size: 10}
    response: {items: $.items, id: $.id, updatedAt: $.updated, filtered: $.updated, nextToken: $.next`
)

func number(r *http.Request, name string) int {
	n, _ := strconv.Atoi(r.FormValue(name))
	return n
}

// sized is a page from a place on, of the size asked for.
func sized(r *http.Request, found []thing) []thing {
	from, size := at(r), number(r, "size")
	if page := number(r, "page"); page > 0 {
		from = (page - 1) * size
	}
	return found[min(from, len(found)):min(from+size, len(found))]
}

func answered(items, found []thing) map[string]any {
	next := ""
	if n := len(items); n > 0 && items[n-1] != found[len(found)-1] {
		next = fmt.Sprint(slices.Index(found, items[n-1]) + 1)
	}
	return map[string]any{"items": append([]thing{}, items...), "next": next, "total": len(found)}
}

// poisoned is a list that fails whenever one of some things is on the page.
func poisoned(n int, bad ...string) *list {
	l := &list{things: things(n)}
	l.search = func(_ *list, r *http.Request, found []thing) any {
		items := sized(r, found)
		if slices.ContainsFunc(items, func(t thing) bool { return slices.Contains(bad, t.ID) }) {
			return refusal(500)
		}
		return answered(items, found)
	}
	return l
}

func without(all []thing, bad []string) []thing {
	return slices.DeleteFunc(slices.Clone(all), func(t thing) bool { return slices.Contains(bad, t.ID) })
}

// An item that makes every page with it fail is found, set aside with a reason,
// and all others are stored; the size of the pages grows back.
func TestAPoisonousItemIsIsolated(t *testing.T) {
	for form, reading := range map[string]string{
		"offset, total": byOffset + withTotal, "offset": byOffset + asIs, "page, total": byNumber + withTotal, "page": byNumber + asIs,
	} {
		for _, bad := range [][]string{{"t000"}, {"t017"}, {"t034"}, {"t039"}, {"t012", "t013"}, {"t005", "t006", "t007", "t031"}} {
			t.Run(fmt.Sprint(form, bad), func(t *testing.T) {
				l := poisoned(40, bad...)
				w := byHand(t, l, reading, "paging.stable=true", "response.maxRejectRate=0.5")
				w.harvest()
				w.holds(without(l.things, bad))
				aside, err := w.store.Quarantine(t.Context(), "hand", 0, 100)
				w.must(err)
				if len(aside) != len(bad) || aside[0].Reason != "ITEM_FAILED" || !strings.Contains(aside[0].Detail, "500") || len(aside[0].Raw) == 0 {
					t.Errorf("%+v", aside)
				}
				last := w.outcomes[len(w.outcomes)-1]
				if last.Stats.Actions.SetAside != len(bad) || last.Stats.Quarantined != len(bad) {
					t.Errorf("%+v", last.Stats)
				}
				runs, err := w.store.Runs(t.Context(), view.Filter{})
				w.must(err)
				if !slices.ContainsFunc(runs[0].Remarks, func(r health.Remark) bool { return r.Condition == health.PoisonPage && r.Action == health.SetAside }) {
					t.Errorf("remarks %+v", runs[0].Remarks)
				}
			})
		}
	}
}

// While the upstream itself is in trouble nobody is condemned, and it is not
// asked a hundred times.
func TestAnUpstreamInTroublePoisonsNobody(t *testing.T) {
	for _, span := range [][2]int{{1, 100}, {3, 100}, {3, 14}, {3, 20}, {3, 31}} {
		l := &list{things: things(40)}
		l.search = func(l *list, r *http.Request, found []thing) any {
			if n := l.calls["/list"]; n >= span[0] && n <= span[1] {
				return refusal(500)
			}
			return answered(sized(r, found), found)
		}
		w := byHand(t, l, byOffset+asIs, "paging.stable=true", "retry.taskAttempts=6")
		w.harvest()
		if aside := w.aside(); len(aside) > 0 || l.calls["/list"] > 13*len(w.outcomes) {
			t.Errorf("%v: %v after %d requests\n%s", span, aside, l.calls["/list"], w.story())
		}
		w.holds(l.things)
	}
}

// missing are the things that are not stored.
func (w *formWorld) missing(all []thing) (out []string) {
	states := w.states()
	for _, t := range all {
		if states[t.ID] != "ACTIVE" {
			out = append(out, t.ID)
		}
	}
	return out
}

// A page that cannot be taken apart: its window is cut until nothing but the
// smallest one round it is missing, and that one fails loudly.
func TestAPoisonousPageThatCannotBeTakenApart(t *testing.T) {
	for ordered, most := range map[string]int{"true": 10, "false": 10} {
		t.Run(ordered, func(t *testing.T) {
			l := poisoned(60, "t034")
			w := byHand(t, l, bySizedToken+asIs, "window.ordered="+ordered, "slicing.minStep=PT30M", "retry.taskAttempts=3")
			w.harvest()
			if missing := w.missing(l.things); !slices.Contains(missing, "t034") || len(missing) > most || w.believed() {
				t.Errorf("missing %v, believed %v\n%s", missing, w.believed(), w.story())
			}
			tasks, err := w.store.Tasks(t.Context(), view.Filter{Status: "FAILED", Limit: 100})
			w.must(err)
			if len(tasks) != 1 {
				t.Errorf("%+v", tasks)
			}
			cut := 0
			for _, o := range w.outcomes {
				if o.Task == ingest.TaskPartial && o.Code == "POISON_PAGE" && o.Stats.Actions.Reslice == 1 {
					cut++
				}
			}
			if cut == 0 {
				t.Errorf("nothing was cut:\n%s", w.story())
			}
			w.checked()
		})
	}
}

// An upstream that sends more than it is asked for would put every later page
// elsewhere: the page is not taken apart, and nothing counts as read.
func TestAServerThatIgnoresTheSize(t *testing.T) {
	l := &list{things: things(40)}
	l.search = func(_ *list, r *http.Request, found []thing) any {
		size := max(number(r, "size"), 8) // it never sends fewer
		from := (number(r, "page") - 1) * size
		items := found[min(from, len(found)):min(from+size, len(found))]
		if slices.ContainsFunc(items, func(t thing) bool { return t.ID == "t025" }) {
			return refusal(500)
		}
		return answered(items, found)
	}
	w := byHand(t, l, byNumber+asIs)
	w.harvest()
	if w.believed() {
		t.Errorf("%v are missing and the day counts as read\n%s", w.missing(l.things), w.story())
	}
	w.checked()
}

// The same where the wrong number lies behind the end of the list: an empty page
// is no end there.
func TestAServerThatIgnoresTheSizeNearTheEnd(t *testing.T) {
	for least, believed := range map[int]bool{8: false, 1: true} {
		l := &list{things: things(15)}
		l.search = func(_ *list, r *http.Request, found []thing) any {
			size := max(number(r, "size"), least)
			from := (number(r, "page") - 1) * size
			items := found[min(from, len(found)):min(from+size, len(found))]
			if slices.ContainsFunc(items, func(t thing) bool { return t.ID == "t014" }) {
				return refusal(500)
			}
			return answered(items, found)
		}
		w := byHand(t, l, byNumber+asIs, "response.maxRejectRate=0.5")
		w.harvest()
		if w.believed() != believed {
			t.Errorf("at least %d: %v are missing, believed %v\n%s", least, w.missing(l.things), w.believed(), w.story())
		}
		w.checked()
	}
}

// An upstream that serves no more than the first items of a query, and says so
// with a 500, has no bad items: the window is cut until all of it is served.
func TestAPlaceThatIsNotServedIsNoItem(t *testing.T) {
	l := &list{things: things(60)}
	l.search = func(_ *list, r *http.Request, found []thing) any {
		if at(r)+number(r, "size") > 35 {
			return refusal(500)
		}
		return answered(sized(r, found), found)
	}
	w := byHand(t, l, byOffset+withTotal, "paging.stable=true", "response.maxRejectRate=0.5")
	w.harvest()
	w.holds(l.things)
	if !w.believed() {
		t.Errorf("%s", w.story())
	}
	w.checked()
}

// found is a book in which a condition is in force.
type found struct {
	health.Condition
	level int
}

func (f found) NoteHealth(context.Context, ingest.HealthNote) error { return nil }

func (f found) HealthOf(context.Context, ingest.Partition) ([]ingest.ConditionNote, error) {
	return []ingest.ConditionNote{{InForce: health.InForce{Condition: f.Condition, Level: f.level}}}, nil
}

func (f found) Waits() (int64, time.Duration) { return 0, 0 }

func bookWith(c health.Condition, level int) *heal.Conditions {
	return heal.New(found{c, level}, "test", slog.New(slog.DiscardHandler))
}

// The same where a token works once: a walk that is lost at one page every time
// is lost because of the page, and the page before it was answered every time.
func TestAPoisonousPageOfAScroll(t *testing.T) {
	l := poisoned(60, "t034")
	w := byHand(t, l, bySizedToken+asIs, "window.ordered=true", "paging.replayable=false", "slicing.minStep=PT30M", "retry.taskAttempts=3")
	w.config.MaxRestarts = 3
	w.harvest()
	if missing := w.missing(l.things); !slices.Contains(missing, "t034") || len(missing) > 10 || w.believed() {
		t.Errorf("missing %v, believed %v\n%s", missing, w.believed(), w.story())
	}
	if first := w.outcomes[0]; first.Task != ingest.TaskPartial || first.Code != "POISON_PAGE" || first.Stats.Restarts != 3 {
		t.Errorf("%s", w.story())
	}
	w.checked()
}

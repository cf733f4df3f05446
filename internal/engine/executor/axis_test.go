package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// Two ways to read a list that serves the first 50 things of a query: its records, or the ids
// of them. A thing has a number, by which it can be asked for in parts.
const (
	numberAxis = `
    query:
      fields: {no: {type: NUMBER, whole: true, ops: [RANGE]}}
      rules: {numbers: {field: no, op: RANGE, emit: PARAMS, params: {low: "${from}", high: "${to}"}}}
    params: {low: {name: low}, high: {name: high}}
    slicing: {minStep: P1D, second: {field: no, from: 1, to: 99999}}
`
	cappedItems = `
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.offset}", size: "${page.size}"}}
    paging: {type: OFFSET, size: 10, maxResults: 50, stable: true}
    response: {items: $.items, id: $.id, updatedAt: $.updated, filtered: $.updated, total: $.total}` + numberAxis
	cappedIDs = `
    request: {path: /search, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.offset}", size: "${page.size}"}}
    paging: {type: OFFSET, size: 10, maxResults: 50, stable: true}
    response: {items: $.ids, id: $, total: $.total}
    details: {endpoint: fetch, batchSize: 5}` + numberAxis + `
  fetch:
    role: DETAIL
    request: {path: /fetch, query: {ids: "${join(ids, ',')}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated, filtered: $.updated}
`
)

// cap50 is an upstream that serves the first 50 things of a query and counts them all. before
// is called with every search.
func cap50(l *list, before func(*list)) *list {
	l.search = func(l *list, r *http.Request, _ []thing) any {
		if before != nil {
			before(l)
		}
		found := l.numbered(r)
		size, _ := strconv.Atoi(r.FormValue("size"))
		if at(r)+size > 50 && at(r) >= 50 {
			return refusal(http.StatusBadRequest)
		}
		out := answered(found[min(at(r), len(found)):min(at(r)+size, 50, len(found))], found)
		ids := []string{}
		for _, t := range out["items"].([]thing) {
			ids = append(ids, t.ID)
		}
		out["ids"] = ids
		return out
	}
	return l
}

// numbered are the things that a request selects.
func (l *list) numbered(r *http.Request) (out []thing) {
	low, high := r.FormValue("low"), r.FormValue("high")
	for _, t := range l.within(r) {
		no := l.numberOf(t)
		from, _ := strconv.Atoi(low)
		to, _ := strconv.Atoi(high)
		if low == "" || no >= from && no <= to && no > 0 {
			out = append(out, t)
		}
	}
	return out
}

// numberOf is the number of a thing: that of its id, or another one that it got since.
func (l *list) numberOf(t thing) int {
	if no, moved := l.moved[t.ID]; moved {
		return no
	}
	no, _ := strconv.Atoi(strings.TrimPrefix(t.ID, "t"))
	return no
}

// crowd are things of one day, with numbers that lie together.
func crowd(n, first int) (out []thing) {
	for i := range n {
		out = append(out, thing{fmt.Sprintf("t%05d", first+i), dayFrom.Add(time.Duration(i) * time.Second)})
	}
	return out
}

func axisReadings() map[string]string {
	return map[string]string{"items": cappedItems, "ids": cappedIDs}
}

// D§5.12: a day that holds more than the upstream serves of one query is read in parts by a
// second axis, and counts as read.
func TestCrowdedDayIsReadByASecondAxis(t *testing.T) {
	for name, reading := range axisReadings() {
		t.Run(name, func(t *testing.T) {
			l := cap50(&list{things: crowd(437, 41_000)}, nil)
			w := byHand(t, l, reading)
			w.harvest()
			w.holds(l.things)
			if n := l.calls["/list"] + l.calls["/search"]; n > 120 {
				t.Errorf("%d searches", n)
			}
		})
	}
}

// Without the axis the day fails as CAPPED, as it always did.
func TestCrowdedDayWithoutAnAxisFails(t *testing.T) {
	l := cap50(&list{things: crowd(437, 41_000)}, nil)
	w := byHand(t, l, strings.Replace(cappedItems, ", second: {field: no, from: 1, to: 99999}", "", 1))
	w.harvest()
	if last := w.outcomes[len(w.outcomes)-1]; w.believed() || last.Code != string(fault.Capped) {
		t.Errorf("believed %v: %s", w.believed(), w.story())
	}
}

// A thing without the number is in no part: the counts do not add up, and the day stays
// CAPPED with the reason.
func TestAxisThatLeavesSomethingOutStaysCapped(t *testing.T) {
	for name, odd := range map[string]string{"none": "x1", "beyond": "t100001"} {
		t.Run(name, func(t *testing.T) {
			l := cap50(&list{things: append(crowd(100, 41_000), thing{odd, dayFrom.Add(time.Hour)})}, nil)
			w := byHand(t, l, cappedItems)
			w.harvest()
			if last := w.outcomes[len(w.outcomes)-1]; w.believed() || last.Code != string(fault.Capped) || !strings.Contains(last.Error, "slicing.second") {
				t.Errorf("believed %v: %s", w.believed(), w.story())
			}
		})
	}
}

// atLastPart calls change once, when the last part of a window begins to be read: those before
// it are read then.
func atLastPart(l *list, change func()) *list {
	cap50(l, nil)
	serve := l.search
	l.search = func(l *list, r *http.Request, found []thing) any {
		if last := r.FormValue("high") == "99999" && r.FormValue("size") == "10"; last && change != nil {
			change()
			change = nil
		}
		return serve(l, r, l.within(r))
	}
	return l
}

// A thing that gets a number in a part which was read already would be in none: that part is
// read again.
func TestPartThatChangedIsReadAgain(t *testing.T) {
	l := &list{moved: map[string]int{}, things: crowd(120, 41_000)}
	moved := false
	atLastPart(l, func() { l.moved["t41119"], moved = 7, true })
	w := byHand(t, l, cappedItems)
	w.harvest()
	w.holds(l.things)
	if !moved {
		t.Error("nothing moved: the test shows nothing")
	}
}

// A thing that is in no part keeps the day from counting as read, whenever it came.
func TestThingInNoPartIsNotedAtTheEnd(t *testing.T) {
	l := &list{things: crowd(120, 41_000)}
	came := false
	atLastPart(l, func() { l.things, came = append(l.things, thing{"x1", dayFrom.Add(time.Hour)}), true })
	w := byHand(t, l, cappedItems)
	w.harvest()
	if !came || w.believed() {
		t.Errorf("came %v, and the day counts as read: %v\n%s", came, w.believed(), w.story())
	}
}

// Whatever comes, goes or gets another number while the parts are read, and wherever workers
// die, nothing counts as read that is not stored (I2).
func TestAxisClaimsNoMoreThanIsRead(t *testing.T) {
	read := 0
	for seed := range uint64(30) {
		for name, reading := range axisReadings() {
			t.Run(fmt.Sprint(name, "/", seed), func(t *testing.T) {
				if axisClaimsNoMoreThanIsRead(t, reading, seed, inFile) {
					read++
				}
			})
		}
	}
	if read < 20 {
		t.Errorf("only %d of 60 days came to their end: the test shows little", read)
	}
}

// axisClaimsNoMoreThanIsRead reports whether the day came to its end.
func axisClaimsNoMoreThanIsRead(t *testing.T, reading string, seed uint64, at place) bool {
	chance := rand.New(rand.NewPCG(seed, 5))
	often := 3 + chance.IntN(30)
	moves := 1 + chance.IntN(6)
	l := cap50(&list{moved: map[string]int{}, things: crowd(60+chance.IntN(300), 1+chance.IntN(60_000))}, func(l *list) {
		if moves > 0 && chance.IntN(often) == 0 {
			moves--
			disturbThings(l, chance)
		}
	})
	planned := slices.Clone(l.things)
	w := byHand(t, l, reading)
	at(w)
	w.planDay()
	w.dieAndGoOn(chance, chance.IntN(5))
	if w.believed() {
		w.holds(slices.DeleteFunc(planned, func(was thing) bool { return !slices.Contains(l.things, was) }))
	}
	return w.believed()
}

// disturbThings lets one thing come, go, or get another number.
func disturbThings(l *list, chance *rand.Rand) {
	i := chance.IntN(len(l.things))
	switch chance.IntN(3) {
	case 0:
		l.things = append(l.things, thing{fmt.Sprintf("t%05d", 70_000+chance.IntN(29_000)), dayFrom.Add(5 * time.Hour)})
	case 1:
		l.things = slices.Delete(slices.Clone(l.things), i, i+1)
	case 2:
		l.moved[l.things[i].ID] = 1 + chance.IntN(99_000)
	}
}

// dieAndGoOn works until nothing is left to do, with workers that die at some commit.
func (w *formWorld) dieAndGoOn(chance *rand.Rand, deaths int) {
	w.Helper()
	for round := range 100 {
		work, err := w.store.Claim(w.Context(), ingest.ClaimRequest{PartitionID: 1, Owner: "worker", Token: fmt.Sprint("dying-", round), Lease: time.Minute, Max: 1})
		w.must(err)
		if len(work) == 0 {
			w.clock.advance(time.Hour)
			promoted, err := w.store.Promote(w.Context(), 100)
			w.must(err)
			replaced, err := planner.New(w.store).Reslice(w.Context())
			w.must(err)
			reaped, err := w.store.Reap(w.Context(), 100)
			w.must(err)
			if promoted == 0 && replaced == 0 && reaped == 0 {
				return
			}
			continue
		}
		commits := 1 << 20
		if deaths > 0 {
			deaths--
			commits = chance.IntN(25)
		}
		out, err := New(&dyingAfter{Store: w.store, commits: commits}, w.chain, nil, w.config, slog.New(slog.DiscardHandler)).Execute(w.Context(), work[0])
		if err != nil && !errors.Is(err, errDied) && !errors.Is(err, context.Canceled) {
			w.Fatal(err)
		}
		w.outcomes = append(w.outcomes, out)
	}
	w.Fatal("the work does not end")
}

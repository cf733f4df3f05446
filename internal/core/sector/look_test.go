package sector_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
)

func lookDay(n int) time.Time { return time.Date(2025, 3, n, 0, 0, 0, 0, time.UTC) }

// byDay cuts a window at every midnight.
func byDay(w window.Window) (out []window.Window, err error) {
	for at := w.From; at.Before(w.To); at = at.AddDate(0, 0, 1) {
		out = append(out, window.Window{From: at, To: at.AddDate(0, 0, 1)}.Intersect(w))
	}
	return out, nil
}

// What is chosen is owed; whoever waits is asked for nothing, whoever is looked at for one window, and of whoever failed in many
// windows one is asked for besides those that are ready. Everybody else is asked for all.
func TestChooseAsksForNothingThatIsNotOwed(t *testing.T) {
	for seed := range uint64(500) {
		dice := rand.New(rand.NewPCG(seed, 7))
		held := map[string]sector.Hold{"b": sector.Look, "c": sector.Wait}
		var lags []sector.Lag
		owes := map[string]int{}
		notReady := map[string]int{}
		for _, name := range []string{"a", "b", "c", "d"} {
			for day := 1; day <= 12; day++ {
				if dice.IntN(2) == 0 {
					l := sector.Lag{Sector: name, Window: window.Window{From: lookDay(day), To: lookDay(day + 1)}, AsOf: lookDay(20), Ready: dice.IntN(3) == 0}
					if dice.IntN(2) == 0 {
						l.Looked = lookDay(20 + dice.IntN(5))
					}
					lags = append(lags, l)
					if owes[name]++; !l.Ready {
						notReady[name]++
					}
				}
			}
		}
		all := sector.All{List: []sector.Sector{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}}}
		narrowed := sector.Narrowed([]window.Window{{From: lookDay(1), To: lookDay(13)}}, lags, all, 0)
		chosen, looked, err := sector.Choose(narrowed, lags, func(name string) sector.Hold { return held[name] }, byDay)
		if err != nil {
			t.Fatal(err)
		}
		asked := map[string]int{}
		for _, n := range chosen {
			days, _ := byDay(n.Window)
			for _, day := range days {
				for _, name := range n.Only {
					asked[name]++
					if !slices.ContainsFunc(lags, func(l sector.Lag) bool { return l.Sector == name && l.Window == day }) {
						t.Fatalf("seed %d: %s is asked for %s, which it does not owe", seed, name, day)
					}
				}
			}
		}
		for name := range owes {
			want := owes[name]
			switch {
			case held[name] == sector.Wait:
				want = 0
			case held[name] == sector.Look:
				want = 1
			case notReady[name] > 3:
				want = owes[name] - notReady[name] + 1
			}
			if asked[name] != want || looked[name] != (want > 0) {
				t.Fatalf("seed %d: %s owes %d windows, %d of them not ready, and is asked for %d, looked %v", seed, name, owes[name], notReady[name], asked[name], looked[name])
			}
		}
	}
}

// The window that was looked at longest ago is the next one: one that always fails does not hide the others.
func TestLooksTakeTurns(t *testing.T) {
	w := window.Window{From: lookDay(1), To: lookDay(6)}
	lags := []sector.Lag{{Sector: "a", Window: w, AsOf: lookDay(20)}}
	all := sector.All{List: []sector.Sector{{Name: "a"}, {Name: "b"}}}
	var seen []string
	for n := range 5 {
		chosen, _, err := sector.Choose(sector.Narrowed([]window.Window{w}, lags, all, 0), lags, func(string) sector.Hold { return sector.Free }, byDay)
		if err != nil || len(chosen) != 1 {
			t.Fatalf("%+v, %v", chosen, err)
		}
		day := chosen[0].Window
		seen = append(seen, fmt.Sprint(day.From.Day()))
		looked := sector.Lag{Sector: "a", Window: day, AsOf: lookDay(20), Looked: lookDay(20).Add(time.Duration(n) * time.Hour)}
		lags = append(sector.Without(lags, []window.Window{day}), looked)
	}
	if slices.Sort(seen); fmt.Sprint(seen) != "[1 2 3 4 5]" {
		t.Errorf("looked at %v", seen)
	}
}

// A share of the sectors may be refused: one always, and never all.
func TestHowManyMayBeRefused(t *testing.T) {
	rule := sector.Refusing{Share: 0.1}
	for all, want := range map[int]int{1: 0, 2: 1, 9: 1, 25: 2, 1000: 100} {
		if got := rule.Most(all); got != want {
			t.Errorf("of %d sectors %d may be refused, want %d", all, got, want)
		}
	}
	refused := []sector.Refusal{{Sector: "a"}, {Sector: "b"}}
	wait := func(string) sector.Hold { return sector.Wait }
	if left := sector.Leave(sector.All{List: []sector.Sector{{Name: "a"}, {Name: "b"}}}, refused, wait, nil); !left.IsZero() {
		t.Errorf("all of a list is left out: %+v", left)
	}
	if left := sector.Leave(sector.All{List: []sector.Sector{{Name: "a"}, {Name: "b"}, {Name: "c"}}}, refused, wait, nil); len(left.Sectors) != 2 {
		t.Errorf("%+v", left)
	}
	look := func(string) sector.Hold { return sector.Look }
	if left := sector.Leave(sector.All{List: []sector.Sector{{Name: "a"}, {Name: "b"}, {Name: "c"}}}, refused, look, map[string]bool{"b": true}); len(left.Sectors) != 1 || left.Sectors[0] != "b" {
		t.Errorf("%+v", left)
	}
}

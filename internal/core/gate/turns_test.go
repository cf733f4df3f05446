package gate

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// waits is a request of a test that waits.
type waits struct {
	task  int64
	place Position
}

// room is a key with those who wait for it, served one at a time by the rule.
type room struct {
	turns   Turns
	quantum float64
	waiting []waits
	no      uint64
}

func (r *room) join(task int64, priority int, weight float64) {
	r.no++
	turn := r.turns.Of(task, r.quantum)
	turn.Join()
	r.waiting = append(r.waiting, waits{task, Position{Priority: priority, Turn: turn, No: r.no, Weight: weight}})
}

// serve lets the next request leave.
func (r *room) serve() waits {
	best := 0
	for i := range r.waiting {
		if r.waiting[i].place.Before(r.waiting[best].place) {
			best = i
		}
	}
	w := r.waiting[best]
	r.waiting = slices.Delete(r.waiting, best, best+1)
	w.place.Turn.Leave()
	r.turns.Serve(w.place.Turn, w.place.Weight, len(r.waiting) > 0)
	return w
}

// Tasks that always wait have the same, to one request, whatever theirs weigh, how
// many workers they have, and whoever else comes and goes.
func TestTasksThatWaitHaveTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 8
		r, had := room{quantum: rapid.Float64Range(0, 20).Draw(t, "quantum")}, map[int64]float64{}
		weight := rapid.IntRange(1, most)
		always := int64(rapid.IntRange(2, 6).Draw(t, "tasks"))
		for task := range always {
			for range rapid.IntRange(1, 4).Draw(t, "workers") {
				r.join(task, 1, float64(weight.Draw(t, "weight")))
			}
		}
		for range rapid.IntRange(1, 200).Draw(t, "served") {
			if rapid.IntRange(0, 9).Draw(t, "guest") == 0 {
				r.join(int64(rapid.IntRange(100, 110).Draw(t, "who")), 1, float64(weight.Draw(t, "weight")))
			}
			w := r.serve()
			had[w.task] += w.place.Weight
			if w.task < always {
				r.join(w.task, 1, float64(weight.Draw(t, "weight")))
			}
			for a := range always {
				for b := range always {
					if had[a]-had[b] > most {
						t.Fatalf("task %d had %v, task %d %v", a, had[a], b, had[b])
					}
				}
			}
		}
	})
}

// A task that was away, however long, gets a quantum and one request at most before
// the others have something again.
func TestWhoWasAwayCatchesUpByAQuantum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quantum := rapid.IntRange(1, 20).Draw(t, "quantum")
		r := room{quantum: float64(quantum)}
		r.join(2, 1, 1)
		r.serve()
		r.join(1, 1, 1)
		for range rapid.IntRange(0, 500).Draw(t, "while away") {
			r.join(1, 1, 1)
			r.serve()
		}
		for range 2 * quantum {
			r.join(2, 1, 1)
			r.join(1, 1, 1)
		}
		row := 0
		for r.serve().task == 2 {
			row++
		}
		if row > quantum+1 {
			t.Fatalf("a quantum of %d, and %d in a row", quantum, row)
		}
	})
}

// The line is the order in which requests leave, one after the other.
func TestTheLineIsTheOrderOfServing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := room{quantum: 10}
		for range rapid.IntRange(0, 30).Draw(t, "before") {
			r.join(int64(rapid.IntRange(0, 4).Draw(t, "task")), 1, float64(rapid.IntRange(1, 5).Draw(t, "weight")))
			if rapid.Bool().Draw(t, "served") {
				r.serve()
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "waiting") {
			r.join(int64(rapid.IntRange(0, 4).Draw(t, "task")), rapid.IntRange(1, 3).Draw(t, "priority"), float64(rapid.IntRange(1, 5).Draw(t, "weight")))
		}
		line := Line(rapid.Permutation(r.waiting).Draw(t, "in any order"), func(w waits) Position { return w.place })
		for i, want := range line {
			if got := r.serve(); got.place.No != want.place.No {
				t.Fatalf("number %d is request %d, the line says %d", i, got.place.No, want.place.No)
			}
		}
	})
}

// The more urgent leave first, whatever their task had.
func TestPriorityComesBeforeTurns(t *testing.T) {
	var r room
	for range 5 {
		r.join(1, 10, 1)
		r.serve()
	}
	r.join(2, 90, 1)
	r.join(1, 10, 1)
	if got := r.serve(); got.task != 1 {
		t.Errorf("task %d left first", got.task)
	}
}

// Accounts of tasks that are over do not pile up, also while somebody always waits,
// and nobody who waits loses its account (I14).
func TestTurnsAreForgotten(t *testing.T) {
	for _, alone := range []bool{true, false} {
		var r room
		if !alone {
			r.join(1, 90, 1)
		}
		for task := range int64(20 * manyTurns) {
			r.join(1000+task, 10, 1)
			r.serve()
			if n := len(r.turns.accounts); n > manyTurns+1 {
				t.Fatalf("%d accounts are kept (alone: %v)", n, alone)
			}
		}
		if !alone && r.turns.accounts[1] != r.waiting[0].place.Turn {
			t.Error("the account of a request that waits was thrown away")
		}
	}
}

// Many who wait at once are no reason to look at all accounts for every one of them.
func TestAccountsOfThoseWhoWaitAreKept(t *testing.T) {
	var r room
	for task := range int64(4 * manyTurns) {
		r.join(task, 1, 1)
	}
	if n := len(r.turns.accounts); n != 4*manyTurns {
		t.Errorf("%d accounts of %d", n, 4*manyTurns)
	}
	for range 4 * manyTurns {
		r.serve()
	}
	r.join(-1, 1, 1)
	if n := len(r.turns.accounts); n > 4*manyTurns+1 {
		t.Errorf("%d accounts are kept", n)
	}
}

// No account is ever more than one request ahead of the stage: that is why being
// forgotten gains nobody more.
func TestNobodyIsFarAheadOfTheStage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 5
		r := room{quantum: rapid.Float64Range(0, 20).Draw(t, "quantum")}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			if len(r.waiting) == 0 || rapid.Bool().Draw(t, "joins") {
				r.join(int64(rapid.IntRange(0, 5).Draw(t, "task")), rapid.IntRange(1, 2).Draw(t, "priority"), float64(rapid.IntRange(1, most).Draw(t, "weight")))
			} else if w := r.serve(); rapid.IntRange(0, 4).Draw(t, "stopped") == 0 {
				r.turns.Refund(w.task, w.place.Weight)
			}
			for task, turn := range r.turns.accounts {
				if turn.had > r.turns.stage+most {
					t.Fatalf("task %d had %v, the stage is %v", task, turn.had, r.turns.stage)
				}
			}
		}
	})
}

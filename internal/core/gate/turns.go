package gate

import (
	"cmp"
	"maps"
	"slices"
)

// Turns shares one key between the tasks that use it (§4.10.3): of requests of the
// same priority the one whose task had less leaves first. It is the one rule of who
// comes next, for the gate of a process and for the gate on a server. The zero value
// is ready.
type Turns struct {
	accounts map[int64]*Turn
	stage    float64 // what the task served last had had by then
	forgetAt int     // accounts
}

// Turn is the account of one task at one key.
type Turn struct {
	had     float64
	waiting int // requests
}

// Of finds the account of a task, for a request that comes now. A new account starts
// level with the others; one that was idle may catch up by a quantum and not more.
func (t *Turns) Of(task int64, quantum float64) *Turn {
	turn := t.accounts[task]
	if turn == nil {
		t.forgetIdle()
		turn = &Turn{had: t.stage}
		t.accounts[task] = turn
	}
	turn.had = max(turn.had, t.stage-quantum)
	return turn
}

// manyTurns is when accounts of tasks that may be over are thrown away.
const manyTurns = 256

// forgetIdle removes accounts without a waiting request: first those that are level or
// behind, which lose what they could catch up by, then the others. No account is more
// than one request ahead of the stage, so no task gains more than that by being
// forgotten.
func (t *Turns) forgetIdle() {
	if t.accounts == nil {
		t.accounts, t.forgetAt = map[int64]*Turn{}, manyTurns
	}
	if len(t.accounts) < t.forgetAt {
		return
	}
	maps.DeleteFunc(t.accounts, func(_ int64, turn *Turn) bool { return turn.waiting == 0 && turn.had <= t.stage })
	if len(t.accounts) >= manyTurns {
		maps.DeleteFunc(t.accounts, func(_ int64, turn *Turn) bool { return turn.waiting == 0 })
	}
	t.forgetAt = max(manyTurns, 2*len(t.accounts))
}

// Join notes that a request waits, Leave that it does not any more.
func (t *Turn) Join()  { t.waiting++ }
func (t *Turn) Leave() { t.waiting-- }

// Serve charges a request that may leave to the account of its task. While no other
// task waits, nothing is taken from the others, and they need not catch up.
func (t *Turns) Serve(turn *Turn, weight float64, othersWait bool) {
	t.stage = max(t.stage, turn.had)
	turn.had += weight
	if !othersWait {
		t.stage = max(t.stage, turn.had)
	}
}

// Refund takes back the charge of a request that did not leave, unless the account of
// its task is forgotten.
func (t *Turns) Refund(task int64, weight float64) {
	if turn := t.accounts[task]; turn != nil {
		turn.had -= weight
	}
}

// Position is where a request stands among those who wait for one key.
type Position struct {
	Priority int // smaller first
	Turn     *Turn
	No       uint64 // in order of arrival
	Weight   float64
}

// Before reports whether a request comes before another: by priority, then whose
// task had less, then by arrival.
func (p Position) Before(o Position) bool { return p.compareTo(p.Turn.had, o, o.Turn.had) < 0 }

func (p Position) compareTo(had float64, o Position, others float64) int {
	return cmp.Or(cmp.Compare(p.Priority, o.Priority), cmp.Compare(had, others), cmp.Compare(p.No, o.No))
}

// Line orders all who wait as they would be served one after the other: each request
// is weighed with what its task will have had by then.
func Line[W any](waiting []W, placeOf func(W) Position) []W {
	type stand struct {
		who   W
		place Position
		had   float64
	}
	line := make([]stand, len(waiting))
	for i, who := range waiting {
		line[i] = stand{who: who, place: placeOf(who)}
	}
	slices.SortFunc(line, func(a, b stand) int { return a.place.compareTo(0, b.place, 0) })
	next := map[*Turn]float64{}
	for i := range line {
		turn := line[i].place.Turn
		had, seen := next[turn]
		if !seen {
			had = turn.had
		}
		line[i].had = had
		next[turn] = had + line[i].place.Weight
	}
	slices.SortFunc(line, func(a, b stand) int { return a.place.compareTo(a.had, b.place, b.had) })
	out := make([]W, len(line))
	for i := range line {
		out[i] = line[i].who
	}
	return out
}

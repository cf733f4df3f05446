package window

import "fmt"

// leaveOut leaves out what others are at. What they do not finish is owed again when they have ended.
func (t Total) leaveOut(taken []Window) Total {
	if len(taken) == 0 || len(t.Owed) == 0 {
		return t
	}
	var left []Window
	for _, w := range t.Owed {
		left = append(left, Subtract(w, taken)...)
	}
	if t.Owed = left; len(left) == 0 {
		t.Reason = fmt.Sprintf("all of %s is settled, waits for a retry or is being read", t.Window)
	}
	return t
}

// AsOne returns the total of a plan that reads from its first owed instant to its last in one go, because a request
// names no upper bound: what is settled or waits in between comes too, so it is read as well. The rest still tiles (I1).
func (t Total) AsOne() Total {
	if len(t.Owed) < 2 {
		return t
	}
	one := []Window{{From: t.Owed[0].From, To: t.Owed[len(t.Owed)-1].To}}
	outside := func(ws []Window) (left []Window) {
		for _, w := range ws {
			left = append(left, Subtract(w, one)...)
		}
		return left
	}
	steps := trail(append([]Step{}, t.Explain...))
	steps.noteStep("asOne", one[0].String(), fmt.Sprintf("%s in one: a request names no upper bound, so what lies between them is read too", countedRanges(len(t.Owed))))
	t.Owed, t.Skipped, t.Waiting, t.Explain = one, outside(t.Skipped), outside(t.Waiting), steps
	return t
}

// Narrowed returns the total of a plan that reads only a part of what is owed: its window is no wider than that
// part, and what it skips lies inside it (I1). The rest stays owed.
func (t Total) Narrowed(part []Window) Total {
	if len(part) == 0 {
		return t
	}
	whole := len(t.Owed)
	t.Window = Window{From: part[0].From, To: part[len(part)-1].To}
	t.Owed, t.Skipped, t.Waiting = part, Within(t.Window, t.Skipped), Within(t.Window, t.Waiting)
	steps := trail(append([]Step{}, t.Explain...))
	steps.noteStep("chunk", t.Window.String(), fmt.Sprintf("the part of the campaign that is planned now: in %d of %s", len(part), countedRanges(whole)))
	t.Explain = steps
	return t
}

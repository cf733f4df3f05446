package webui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

// stateLook is how a state of time is drawn and called. No state rests on its colour alone.
type stateLook struct {
	state view.CellState
	class string // of cells
	word  string
	says  string // in the legend
	fill  string // in strips: class or pattern
	group string // of the legend
}

var looks = []stateLook{
	{view.CellDone, "done", "read", "by a harvest", "class=\"f-done\"", "Done"},
	{view.CellBackfilled, "back", "backfilled", "read by a backfill", "fill=\"url(#p-back)\"", "Done"},
	{view.CellRejects, "quar", "with items in quarantine", "read, but for these", "class=\"f-done\"", "Done"},
	{view.CellWaived, "waived", "waived", "a person accepted that it is not read", "fill=\"url(#p-waived)\"", "Done"},
	{view.CellReading, "run", "being read", "its task waits or is worked on", "fill=\"url(#p-run)\"", "On its way"},
	{view.CellOwed, "owed", "owed", "a harvest or backfill is to read it", "class=\"k-owed\"", "On its way"},
	{view.CellPartly, "part", "partly read", "", "class=\"f-back\"", "On its way"},
	{view.CellFailed, "failed", "failed", "waits for its retry, or was given up", "class=\"f-fail\"", "Look at it"},
	{view.CellCapped, "capped", "capped", "more than the upstream serves", "class=\"f-cap\"", "Look at it"},
	{view.CellLeft, "left", "left behind", "by a watermark that was set by hand", "class=\"k-left\"", "Look at it"},
	{view.CellThin, "thin", "thin", "far fewer items than usual", "class=\"f-doubt\"", "Look at it"},
	{view.CellShort, "short", "short", "asked later, the upstream counted more", "class=\"f-doubt\"", "Look at it"},
	{view.CellNothing, "none", "never asked for", "", "", "Not wanted"},
	{"", "void", "has not come yet", "", "", ""},
}

func lookOf(s view.CellState) stateLook {
	if i := slices.IndexFunc(looks, func(l stateLook) bool { return l.state == s }); i >= 0 {
		return looks[i]
	}
	return looks[len(looks)-1]
}

// Class, Word and Says are for templates.
func (l stateLook) Class() string { return l.class }

// Word is what a state is called.
func (l stateLook) Word() string { return l.word }

// Says explains the word in the legend.
func (l stateLook) Says() string { return l.says }

// legendGroup is a line of the legend.
type legendGroup struct {
	Name  string
	Looks []stateLook
}

func legend() (out []legendGroup) {
	for _, l := range looks {
		switch n := len(out); {
		case l.group == "":
		case n > 0 && out[n-1].Name == l.group:
			out[n-1].Looks = append(out[n-1].Looks, l)
		default:
			out = append(out, legendGroup{l.group, []stateLook{l}})
		}
	}
	return out
}

// amountsText says how much of a line is in which state, the worst first; only what asks for
// a look where that is wanted.
func amountsText(l view.CoverageLine, onlyTrouble bool) string {
	var states []view.CellState
	for s := range l.Amounts {
		if s == "" || s == view.CellNothing || onlyTrouble && (s == view.CellDone || s == view.CellBackfilled) {
			continue
		}
		states = append(states, s)
	}
	sortRows(states, func(a, b view.CellState) int { return cmp.Compare(a.Rank(), b.Rank()) })
	var parts []string
	for _, s := range states {
		parts = append(parts, spanText(time.Duration(l.Amounts[s])*time.Microsecond)+" "+lookOf(s).word)
	}
	return strings.Join(parts, ", ")
}

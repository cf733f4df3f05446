package check

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// span is a stretch of time in microseconds.
type span struct{ from, to int64 }

// Tiling is I1: the leaf slices of a plan follow one another without overlap,
// and cover exactly what its PLANNED event wants. A slice that was replaced
// counts with what it read, its children with the rest. A list that is asked for in sectors is tiled for each of them.
// What a slice wanted again, for a stored record that could not be read from its beginning, is the next plan's to tile.
func Tiling(ctx context.Context, db *sql.DB) (problems []string, err error) {
	leaves := map[int64]map[string][]span{}
	err = eachRow(ctx, db, `SELECT s.plan_id, COALESCE(s.sector_name, ''), s.window_from, s.window_to, COALESCE(r.window_from, s.window_to), COALESCE(r.window_to, s.window_to)
  FROM ing_plan_slice s JOIN ing_plan p ON p.id = s.plan_id LEFT JOIN ing_reslice_request r ON r.slice_id = s.id AND r.status_code = 'DONE'
  WHERE p.slice_strategy_code = 'TIME'`, func(scan func(...any) error) error {
		var plan int64
		var name string
		var whole, rest span
		if err := scan(&plan, &name, &whole.from, &whole.to, &rest.from, &rest.to); err != nil {
			return err
		}
		if whole.from >= whole.to {
			problems = append(problems, fmt.Sprintf("I1: plan %d has an empty slice at %d", plan, whole.from))
		}
		for _, part := range []span{{whole.from, rest.from}, {rest.to, whole.to}} {
			if part.from < part.to {
				if leaves[plan] == nil {
					leaves[plan] = map[string][]span{}
				}
				leaves[plan][name] = append(leaves[plan][name], part)
			}
		}
		return nil
	})
	if err != nil {
		return problems, err
	}
	joined := map[int64]map[string][]span{}
	for plan, sectors := range leaves {
		joined[plan] = map[string][]span{}
		for name, list := range sectors {
			var overlaps []int64
			joined[plan][name], overlaps = joinSpans(list)
			for _, at := range overlaps {
				problems = append(problems, fmt.Sprintf("I1: plan %d has overlapping slices at %d %s", plan, at, name))
			}
		}
	}
	err = eachRow(ctx, db, `SELECT e.plan_id, p.sector_count, COALESCE(p.sector_narrow, ''), COALESCE(p.sector_left, ''), e.window_from, e.window_to, COALESCE(e.spans, '') FROM ing_cursor_event e JOIN ing_plan p ON p.id = e.plan_id
  WHERE e.kind_code = 'PLANNED' AND e.slice_id IS NULL AND p.status_code IN ('READY','COMPLETED') AND p.slice_strategy_code = 'TIME'`, func(scan func(...any) error) error {
		var plan int64
		var sectors int
		var whole span
		var spans, narrow, left string
		if err := scan(&plan, &sectors, &narrow, &left, &whole.from, &whole.to, &spans); err != nil {
			return err
		}
		want, err := wantedSpans(whole, spans)
		if err != nil {
			return err
		}
		skipped, err := leftOut(left)
		if err != nil {
			return err
		}
		runs, parts := countParts(joined[plan], skipped)
		if parts != max(1, sectors) && len(want) > 0 {
			problems = append(problems, fmt.Sprintf("I1: plan %d: slices for %d parts of the list, planned are %d", plan, parts, max(1, sectors)))
		}
		for name, covered := range joined[plan] {
			wanted, err := wantedFor(name, want, narrow)
			if runs && !isRun(name) {
				wanted, err = wantedAlone(name, narrow)
			}
			if err != nil {
				return err
			}
			if !slices.Equal(covered, wanted) && !skipped[name] { // it reads some windows alone, and none with the others
				problems = append(problems, fmt.Sprintf("I1: plan %d: slices cover %v %s, planned is %v", plan, covered, name, wanted))
			}
		}
		return nil
	})
	return problems, err
}

// joinSpans sorts stretches, makes one of those that abut, and tells where some overlap.
func joinSpans(list []span) (out []span, overlaps []int64) {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range list {
		n := len(out)
		if n == 0 || s.from > out[n-1].to {
			out = append(out, s)
			continue
		}
		if s.from < out[n-1].to {
			overlaps = append(overlaps, s.from)
		}
		out[n-1].to = max(out[n-1].to, s.to)
	}
	return out, overlaps
}

// wantedSpans is what a PLANNED event asks for: its whole window, or the stretches it lists.
func wantedSpans(whole span, spans string) (out []span, err error) {
	if spans == "" {
		return []span{whole}, nil
	}
	var list []struct{ From, To time.Time }
	if err := json.Unmarshal([]byte(spans), &list); err != nil {
		return nil, err
	}
	for _, s := range list {
		out = append(out, span{s.From.UnixMicro(), s.To.UnixMicro()})
	}
	return out, nil
}

// isRun reports whether a sector is a run of stored records, as in repo=~3/512, and no single one of them.
func isRun(name string) bool { return strings.Contains(name, "=~") }

// countParts counts the sectors for which a plan reads all of its time, with those that it leaves out. If runs of stored
// records do, single records that read some windows alone are beside them.
func countParts(covered map[string][]span, skipped map[string]bool) (runs bool, parts int) {
	for name := range covered {
		if isRun(name) {
			runs, parts = true, parts+1
		}
	}
	if runs {
		return true, parts + len(skipped)
	}
	parts = len(covered)
	for name := range skipped {
		if covered[name] == nil {
			parts++
		}
	}
	return false, parts
}

// wantedAlone is what a plan reads for a few sectors only, as far as one of them is meant.
func wantedAlone(name, narrow string) (out []span, err error) {
	few, err := readNarrow(narrow)
	for _, n := range few {
		if slices.Contains(n.Only, name) {
			out = append(out, span{n.Window.From.UnixMicro(), n.Window.To.UnixMicro()})
		}
	}
	joined, _ := joinSpans(out)
	return joined, err
}

// narrow is a window that a plan reads for a few sectors only.
type narrow struct {
	Window struct{ From, To time.Time }
	Only   []string
}

func readNarrow(text string) (out []narrow, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &out)
	}
	return out, err
}

// wantedFor is what a plan reads for one sector: less what it reads for other sectors only.
func wantedFor(name string, want []span, narrow string) (out []span, err error) {
	few, err := readNarrow(narrow)
	if err != nil || len(few) == 0 {
		return want, err
	}
	left := slices.Clone(want)
	for _, n := range few {
		if slices.Contains(n.Only, name) {
			continue
		}
		gone := span{n.Window.From.UnixMicro(), n.Window.To.UnixMicro()}
		out = nil
		for _, s := range left {
			for _, part := range []span{{s.from, min(s.to, gone.from)}, {max(s.from, gone.to), s.to}} {
				if part.from < part.to {
					out = append(out, part)
				}
			}
		}
		left = out
	}
	joined, _ := joinSpans(left)
	return joined, nil
}

// leftOut is which sectors a plan does not ask for where it asks for all others.
func leftOut(text string) (map[string]bool, error) {
	var left struct{ Sectors []string }
	if text == "" {
		return nil, nil
	}
	err := json.Unmarshal([]byte(text), &left)
	out := map[string]bool{}
	for _, name := range left.Sectors {
		out[name] = true
	}
	return out, err
}

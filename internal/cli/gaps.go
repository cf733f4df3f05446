package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// gap is a stretch that is not done, and why.
type gap struct {
	CursorID   int64         `json:"cursorId,omitempty"` // none if the endpoint was never harvested
	Source     string        `json:"source"`
	Endpoint   string        `json:"endpoint"`
	Field      string        `json:"cursorKey"`
	Window     window.Window `json:"window"`
	State      string        `json:"state"` // NOT_ASKED, LEFT, OWED, REOPENED or FAILED
	Reason     string        `json:"reason"`
	Fails      int           `json:"fails,omitempty"`
	RetryAfter time.Time     `json:"retryAt,omitzero"`

	Planned string `json:"planned,omitempty"` // who is to read it, where that is settled

	beforeStart bool // of the watermark: no harvest goes back to it
	waits       bool // failed, and waits for its retry time
	capped      bool // no retry mends it
}

func newCoverageGaps(e *env) *cobra.Command {
	var q gapQuery
	c := &cobra.Command{
		Use:   "gaps SRC",
		Short: "List stretches of time that are not complete; exit code 9 if there are any",
		Long: `List stretches of time that are not complete, each with its reason.

By default the range is what was ever asked for: from the start of the first
harvest to the end of the newest. If the source asked for something else then,
that time is a gap until it is asked again. --all takes everything the source has,
from its declared earliest instant to what is safe to read now.

Exit code 0: no gaps. Exit code 9: there are gaps.`,
		Example: `  patra coverage gaps crossref
  patra coverage gaps crossref --from 2025-01-01 --to 2025-04-01
  patra coverage gaps crossref --all -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.parse(); err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.gaps(cmd.Context(), app, args[0], q) })
		},
	}
	q.flags(c, "the start of the first harvest", "the end of the newest harvest")
	c.Flags().BoolVar(&q.all, "all", false, "from the declared earliest instant of the source to now")
	return c
}

type gapQuery struct {
	stretch
	all bool
}

func (e *env) gaps(ctx context.Context, app *daemon.App, code string, q gapQuery) error {
	src, _, err := app.Source(ctx, code)
	if err != nil {
		return err
	}
	books, err := e.books(ctx, app, src)
	if err != nil {
		return err
	}
	gaps := []gap{}
	err = e.eachBook(books, q, func(b book, within window.Window) error {
		found, err := e.markPlanned(ctx, app, b, b.gapsIn(within, q.open()))
		if err != nil {
			return err
		}
		gaps = append(gaps, found...)
		if len(found) == 0 && e.output == "table" {
			fmt.Fprintf(e.out, "no gaps in %s (%s by %s)\n", brief(within), b.endpoint, b.field)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(gaps) > 0 || e.output == "json" {
		if err := list(e, gaps, gapColumns()); err != nil {
			return err
		}
	}
	if len(gaps) > 0 {
		return findings("%s is not complete: gaps = %d; %s", code, len(gaps), remedy(code, gaps))
	}
	return nil
}

// eachBook does something for every endpoint, with the range that is meant.
func (e *env) eachBook(books []book, q gapQuery, do func(b book, within window.Window) error) error {
	harvested := slices.ContainsFunc(books, book.known)
	var nothing []window.Window
	looked := 0
	for _, b := range books {
		if harvested && !b.known() && b.earlier.origin.IsZero() && q.from == nil && !q.all {
			e.hint("endpoint %s was never harvested; --from or --all includes it", b.endpoint)
			continue
		}
		within, err := e.gapRange(b, q)
		if err != nil {
			return err
		}
		if looked++; within.Empty() {
			nothing = append(nothing, within)
			e.hintEmpty(b, within)
			continue
		}
		if err := do(b, within); err != nil {
			return err
		}
	}
	if q.named() && looked > 0 && looked == len(nothing) { // a slip: "no gaps" would be taken for an answer
		return usagef("nothing lies in %s: choose other --from and --to", brief(nothing[0]))
	}
	return nil
}

// open: nobody named a range, so only what was ever asked for counts.
func (q gapQuery) open() bool { return q.from == nil && !q.all }

// remedy is the next step. A harvest reads what is owed; it goes back to what was
// never asked for only before its watermark exists.
func remedy(code string, gaps []gap) string {
	if gaps[0].CursorID == 0 {
		return fmt.Sprintf("`patra harvest %s --from %s` asks for it", code, gaps[0].Window.From.Format(time.DateOnly))
	}
	has := func(what func(gap) bool) bool { return slices.ContainsFunc(gaps, what) }
	if !has(func(g gap) bool { return g.Planned == "" }) {
		return fmt.Sprintf("all of them are planned: `patra serve` works on that, or the next `patra harvest %s`", code)
	}
	text := fmt.Sprintf("`patra harvest %s` fetches what is owed", code)
	if has(func(g gap) bool { return g.waits && g.Planned == "" }) {
		text += ", and what failed from its retry time on, or now with --retry"
	}
	if has(func(g gap) bool { return g.beforeStart && g.Planned == "" }) {
		text += "; time before its start needs a backfill"
	}
	if i := slices.IndexFunc(gaps, func(g gap) bool { return g.capped }); i >= 0 {
		text += "; " + cappedNext(gaps[i].Window, code)
	}
	return text + fmt.Sprintf("; `patra coverage fill %s` plans exactly these", code)
}

func gapColumns() columns[gap] {
	return columns[gap]{[]string{"endpoint", "window", "reason"}, func(g gap) []any {
		reason := g.Reason
		if g.Planned != "" {
			reason += "; " + g.Planned
		}
		return []any{short(g.Endpoint, 14), brief(g.Window), reason}
	}}
}

// book is the coverage of one endpoint as the source is configured now.
type book struct {
	source, endpoint, field string
	at                      ingest.Namespace
	compiled                *spec.Compiled
	cursor                  view.Cursor // zero if never harvested
	segments                []coverage.Segment
	campaigns               []coverage.Segment // what backfills read that asked the same
	earlier                 earlier
	mended                  time.Time       // when what may have made it fail was changed last
	capped                  []window.Window // of what failed: more than the upstream serves
	earliest                time.Time       // zero if not declared
	safe                    time.Time       // where a harvest that starts now would end
}

func (b book) known() bool { return b.cursor.ID != 0 }

// earlier is what was harvested while the source asked for something else. It
// counts for nothing now, so the time it reaches back to is a gap until the
// present question has been put to it too (D§5.7).
type earlier struct {
	cursor int64
	origin time.Time // zero if the source always asked the same
}

// reaching takes the cursor that reaches back furthest, of those that the source
// itself asked for. Where that was not noted, cursors made later than the book's
// own are of runs with overrides, which the source does not answer for.
func (b book) reaching(others []view.Cursor) earlier {
	var out earlier
	for _, c := range others {
		asked := !b.known() || !c.OwnSince.IsZero() || c.ID < b.cursor.ID
		if asked && !c.Origin.IsZero() && (out.origin.IsZero() || c.Origin.Before(out.origin)) {
			out = earlier{c.ID, c.Origin}
		}
	}
	return out
}

// books finds what is covered for each endpoint that can be harvested. Only the
// namespace of what the source asks for today counts: a changed date field or
// expression shows as a gap (D§5.7).
func (e *env) books(ctx context.Context, app *daemon.App, src *registry.Source) ([]book, error) {
	cursors, err := app.Store.Cursors(ctx, src.Code)
	if err != nil {
		return nil, err
	}
	now, err := app.Store.Now(ctx)
	if err != nil {
		return nil, err
	}
	var out []book
	for _, name := range slices.Sorted(maps.Keys(src.Endpoints)) {
		if !harvestable(src.Endpoints[name]) {
			continue
		}
		compiled, err := daemon.Compile(src, name, ingest.Harvest, nil)
		if err != nil {
			return nil, err
		}
		blank := book{source: src.Code, endpoint: name, field: compiled.Snapshot.Filter.Field, compiled: compiled, safe: harvestEnd(compiled, now)}
		if blank.at, err = compiled.Namespace(); err != nil {
			return nil, err
		}
		hash, err := compiled.Prototype.Hash()
		if err != nil {
			return nil, err
		}
		if blank.campaigns, err = app.Store.CampaignBooks(ctx, compiled.Snapshot.Dataset(), blank.field, hash); err != nil {
			return nil, err
		}
		if text := compiled.Snapshot.Window.Earliest; text != "" {
			if blank.earliest, err = window.ParseInstant(text); err != nil {
				return nil, err
			}
		}
		filled, err := e.fill(ctx, app, blank, cursors)
		if err != nil {
			return nil, err
		}
		out = append(out, filled...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("source %s has no endpoint that can be harvested: %w", src.Code, fault.ErrNotFound)
	}
	return out, nil
}

func harvestable(p registry.Endpoint) bool {
	return p.Role == "SEARCH" && slices.Contains(p.Operates(), string(ingest.Harvest))
}

func (e *env) fill(ctx context.Context, app *daemon.App, blank book, cursors []view.Cursor) ([]book, error) {
	var out []book
	var others []view.Cursor
	for _, c := range cursors {
		if c.Endpoint != blank.endpoint || c.Operation != string(ingest.Harvest) {
			continue
		}
		if c.Key != blank.field {
			e.hint("cursor %d follows %s, which the source no longer does; it does not count", c.ID, c.Key)
			others = append(others, c)
			continue
		}
		if !isAt(c, blank.at) {
			e.hint("cursor %d asked for something else than the source does now; it does not count", c.ID)
			others = append(others, c)
			continue
		}
		segments, err := app.Store.Segments(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		b := blank
		b.cursor, b.segments = c, segments
		if err := b.findCauses(ctx, app); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	if len(out) == 0 {
		out = []book{blank}
	}
	for i := range out {
		out[i].earlier = out[i].reaching(others)
	}
	return out, nil
}

// findCauses looks up what decides when failed stretches are tried again.
func (b *book) findCauses(ctx context.Context, app *daemon.App) (err error) {
	of := ingest.Partition{Dataset: b.compiled.Snapshot.Dataset(), Operation: ingest.Harvest}
	if b.mended, err = app.Store.Mended(ctx, of); err != nil {
		return err
	}
	var failed []window.Window
	for _, s := range b.segments {
		if s.Fails > 0 && !s.Done() {
			failed = append(failed, s.Window)
		}
	}
	b.capped, err = cappedOf(ctx, app, of, failed)
	return err
}

// gapRange is where to look, with a word about what lies outside. It is empty where
// nothing was asked for: a watermark that was set back by hand begins a new book.
func (e *env) gapRange(b book, q gapQuery) (window.Window, error) {
	from, to := b.cursor.Origin, askedTo(b.cursor.Origin, b.segments)
	if at := b.earlier.origin; !at.IsZero() && (from.IsZero() || at.Before(from)) {
		from = at
	}
	if left := b.cursor.Left; len(left) > 0 && (from.IsZero() || left[0].From.Before(from)) {
		from, to = left[0].From, later(to, left[len(left)-1].To)
	}
	if q.all {
		to = later(to, b.safe)
		if !b.earliest.IsZero() {
			from = b.earliest
		}
	}
	if to.IsZero() {
		to = b.safe
	}
	if from.IsZero() && q.from == nil && b.known() { // its value was taken away, and nothing was asked for since
		return window.Window{From: b.safe, To: b.safe}, nil
	}
	if from.IsZero() && q.from == nil {
		return window.Window{}, fmt.Errorf("%s %s was never harvested here: %w: run `patra harvest %s` first, or name a start with --from", b.source, b.endpoint, fault.ErrNotFound, b.source)
	}
	w := q.within(from, to)
	if w.Empty() {
		return w, nil
	}
	// The time to come is no gap.
	if limit := later(b.safe, askedTo(b.cursor.Origin, b.segments)); w.To.After(limit) {
		e.hint("%s is cut at %s: later instants are not safe to read yet", brief(w), window.Text(limit))
		w.To = limit
	}
	if !w.Empty() {
		e.outside(b, w, q)
	}
	return w, nil
}

// hintEmpty says why there is nothing to look at, so that an empty answer is not
// taken for a complete source.
func (e *env) hintEmpty(b book, w window.Window) {
	about := b.source + "/" + b.endpoint
	switch {
	case b.cursor.Origin.IsZero():
		e.hint("%s: its watermark has no value, so nothing is asked for: `patra harvest %s` begins as the first did", about, b.source)
	case w.From.Equal(b.cursor.Origin) && w.To.Equal(w.From):
		e.hint("%s: nothing from %s on was asked for yet: `patra harvest %s` reads it", about, moment(w.From), b.source)
	default:
		e.hint("%s: nothing lies in %s", about, brief(w))
	}
}

// outside mentions what a default range leaves out, so that "no gaps" is not
// taken for more than it says.
func (e *env) outside(b book, w window.Window, q gapQuery) {
	if q.from == nil && !q.all && (b.earliest.IsZero() || b.earliest.Before(w.From)) {
		e.hint("history before %s was never asked for; --from or --all includes it", moment(w.From))
	}
	if q.to == nil && !q.all && b.safe.After(w.To) {
		e.hint("nothing after %s was asked for yet; a harvest now reads up to %s", moment(w.To), moment(b.safe))
	}
}

// gapsIn leaves out what nobody asked for, unless a range was named: below the
// start of the watermark only what was left behind when it was set by hand, or
// what an earlier question had reached.
func (b book) gapsIn(within window.Window, asked bool) (out []gap) {
	if within.Empty() {
		return nil
	}
	if !asked || b.cursor.Origin.IsZero() && len(b.cursor.Left) == 0 {
		return b.gaps(within)
	}
	meant := slices.Clone(b.cursor.Left)
	for _, from := range []time.Time{b.cursor.Origin, b.earlier.origin} {
		if !from.IsZero() {
			meant = append(meant, window.Window{From: from, To: within.To})
		}
	}
	for _, w := range window.Within(within, meant) {
		out = append(out, b.gaps(w)...)
	}
	return out
}

// gaps cuts each gap at the segments under it: their histories differ, and so do
// the reasons.
func (b book) gaps(within window.Window) []gap {
	var out []gap
	for _, hole := range coverage.Gaps(coverage.Overlay(b.segments, b.campaigns), within) {
		var known []window.Window
		for _, s := range b.segments {
			if part := s.Window.Intersect(hole); !part.Empty() {
				known = append(known, part)
				out = append(out, b.gap(part, s))
			}
		}
		for _, part := range window.Subtract(hole, known) {
			out = append(out, b.gap(part, coverage.Segment{}))
		}
	}
	slices.SortFunc(out, func(x, y gap) int { return x.Window.From.Compare(y.Window.From) })
	return out
}

func (b book) gap(w window.Window, s coverage.Segment) gap {
	g := gap{CursorID: b.cursor.ID, Source: b.source, Endpoint: b.endpoint, Field: b.field, Window: w, Fails: s.Fails, RetryAfter: s.RetryAfter,
		beforeStart: b.known() && !w.To.After(b.cursor.Origin)}
	switch {
	case s.Fails > 0 && allWithin([]window.Window{w}, b.capped):
		g.State, g.Reason, g.capped = "FAILED", fmt.Sprintf("failed %s: more than the upstream serves (CAPPED), no retry mends that", times(s.Fails)), true
	case s.Fails > 0:
		g.State, g.Reason, g.waits = "FAILED", fmt.Sprintf("failed %s, %s", times(s.Fails), retryText(s, b.mended)), s.FailedAt().After(b.mended)
	case s.Want.IsZero() && slices.ContainsFunc(b.cursor.Left, w.Overlaps):
		g.State, g.Reason = "LEFT", fmt.Sprintf("owed when cursor %d was set by hand; no harvest goes back to it", b.cursor.ID)
	case s.Want.IsZero() && !b.earlier.origin.IsZero() && !w.From.Before(b.earlier.origin):
		g.State, g.Reason = "NOT_ASKED", fmt.Sprintf("never asked for as the source asks now; cursor %d asked for something else", b.earlier.cursor)
	case s.Want.IsZero():
		g.State, g.Reason = "NOT_ASKED", "never asked for"
	case s.Have.IsZero():
		g.State, g.Reason = "OWED", "never read, planned as of "+when(s.Want)
	default:
		g.State, g.Reason = "REOPENED", fmt.Sprintf("read as of %s, wanted again as of %s", when(s.Have), when(s.Want))
	}
	return g
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

package executor

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/twophase"
	"github.com/patra-ingest/patra/internal/core/window"
)

// parentRun is a slice that reads its window for a run of stored records, one after the other in the order of their keys: each
// is a part of the list. A parent that fails is noted, and the run goes on (decision 140).
type parentRun struct {
	program *spec.Program // of the run
	opens   *slicing.Opening
	still   map[record.Key]bool // parents that came before the others were read, and are new still
	picks   *slicing.Picked     // which parents are asked for; nil: all are
	asked   window.Window       // what is asked for of parents that are not new
	swept   time.Time           // up to where the one in hand should have nothing that was not read; zero: nobody can tell

	parentQueue
	over bool // all parents were read or noted

	refusedParents
	ingest.RunWalk
	stored string         // the last parent that is over in the checkpoint of a page; the next run begins behind it
	behind int            // parents in a row that failed for what may pass
	before ingest.RunWalk // how the run stood before them
	stop   error          // what the operator wants, after the parent in hand
}

// parentQueue are the parents that are still to be read, of which one is in hand.
type parentQueue struct {
	look  ingest.ParentLook
	ahead []ingest.Parent
	last  bool
	hand  ingest.Parent
}

// refusedParents are the names of parents that the upstream does not give us.
type refusedParents struct {
	left    map[string]bool // that are not asked for
	refused map[string]bool // that were refused when the run began
}

// parentsAhead is how many parents are read from the store at once.
const parentsAhead = 200

// fewBehind is how many parents in a row may fail for what may pass, before it is taken for trouble of the upstream.
const fewBehind = 3

// chooseParents finds which stored records the slice asks for, where those are the parts of its list.
func (r *taskRun) chooseParents(ctx context.Context, s slicing.Spec) error {
	if s.Range != nil || r.program.Parent == nil {
		return nil
	}
	meant, err := r.program.Meant()
	if err != nil {
		return fault.New(fault.Internal, err)
	}
	look := ingest.ParentLook{Dataset: r.program.Parent.Dataset(), Limit: parentsAhead}
	if meant.Run != nil {
		look.From, look.To = meant.Run.Bounds()
		still := stillNew(s)
		look.Pick = pickFrom(s.Picks, still)
		r.parents = &parentRun{program: r.program, parentQueue: parentQueue{look: look}, opens: s.Opens, still: still, picks: s.Picks, asked: s.Asked()}
		if last := r.run.Checkpoint.Run; last != nil {
			r.parents.RunWalk = *last
		}
		return r.readRefusals(ctx)
	}
	look.Only = &meant.Key
	found, _, _, err := r.executor.store.Parents(ctx, look)
	if err != nil {
		return err
	}
	if r.closed = len(found) == 0; r.closed {
		return nil
	}
	one, err := r.program.ReadParent(found[0].ID, found[0].Item)
	if err != nil {
		return err
	}
	r.askParent(one, window.Window{})
	return nil
}

// pickFrom tells which parents a slice asks for; nil: all of them. One that is new still is asked for whether it changed or not: when
// the slice ends, it counts as read from its beginning.
func pickFrom(picks *slicing.Picked, still map[record.Key]bool) func(ingest.Parent) bool {
	if picks == nil {
		return nil
	}
	return func(p ingest.Parent) bool { return still[p.Key] || picks.Choose(p.Key, p.Changed) != slicing.NotPicked }
}

// askParent lets the run ask for one parent, and for another window of it if one is named.
func (r *taskRun) askParent(one spec.AskedParent, w window.Window) {
	r.program = r.program.InParent(one)
	r.parent = &blackbox.AskedParent{Name: one.Name, Values: one.Values, Window: w}
}

// readRun reads the parents of the run, from the one behind those that are over.
func (r *taskRun) readRun(ctx context.Context) (ingest.Outcome, error) {
	p := r.parents
	for {
		more, err := r.takeParent(ctx)
		if err != nil {
			return ingest.Outcome{}, err
		}
		if !more {
			return r.endRun(ctx)
		}
		if passed, err := p.passOver(r.work.Window); err != nil {
			return ingest.Outcome{}, err
		} else if !passed {
			if err := r.readParent(ctx); err != nil {
				return ingest.Outcome{}, err
			}
		}
		p.After, p.Asked = hex.EncodeToString(p.hand.Key[:]), ""
		if p.stop != nil {
			return ingest.Outcome{}, p.stop
		}
	}
}

// readParent reads the parent in hand. It returns an error that is not about the parent.
func (r *taskRun) readParent(ctx context.Context) error {
	owed, err := r.beginParent(ctx)
	if err == nil {
		err = r.readPages(ctx)
	}
	r.countParent()
	if err != nil {
		return r.loseParent(ctx, owed, err)
	}
	p := r.parents
	p.behind, p.Answered = 0, p.withAnswered(r.parent.Name)
	return nil
}

// endRun ends a run whose parents are all over. Of a list that is read whole, it is one part of the reading. A run that only
// left some out has not failed.
func (r *taskRun) endRun(ctx context.Context) (ingest.Outcome, error) {
	if r.parents.over = true; slices.ContainsFunc(r.parents.Lost, func(l ingest.LostParent) bool { return !l.Left }) {
		return r.parents.outcome(), nil
	}
	return r.endWhole(ctx)
}

// takeParent takes the next parent in hand; more is false behind the last one.
func (r *taskRun) takeParent(ctx context.Context) (more bool, err error) {
	p := r.parents
	for len(p.ahead) == 0 && !p.last {
		if p.look.After < p.After {
			p.look.After = p.After
		}
		var next string
		if p.ahead, next, p.last, err = r.executor.store.Parents(ctx, p.look); err != nil {
			return false, err
		}
		p.look.After = max(p.look.After, next)
	}
	if len(p.ahead) == 0 {
		return false, nil
	}
	p.hand, p.ahead = p.ahead[0], p.ahead[1:]
	return true, nil
}

// beginParent makes ready to ask for the parent in hand, and returns what is owed of it. One that was read in part goes on where
// its last page was stored, if it is still asked for the same.
func (r *taskRun) beginParent(ctx context.Context) (owed window.Window, err error) {
	p, other := r.parents, window.Window{}
	r.program = p.program
	one, err := p.program.ReadParent(p.hand.ID, p.hand.Item)
	owed, _ = p.widen(r.work.Window, one.Since)
	asked, wider := p.widen(p.asked, one.Since)
	if wider {
		other = asked
	}
	p.swept = p.picks.Unannounced(p.hand.Key, p.hand.Changed)
	r.askParent(one, other)
	if err != nil {
		return owed, err
	}
	r.asked, r.against, r.question = asked, r.program.Expect(asked, time.Time{}, 0), nil
	r.ids, r.failed, r.lost = twophase.Progress{}, nil, nil
	r.list, r.detail = &listWalk{taskRun: r}, &detailWalk{taskRun: r}
	r.first, r.delivery, r.detail.rules = r.list, newDelivery(r), searchRules(r.program)
	r.list.load.Limits = r.program.Healing
	r.spent, r.began = spent{r.stats.Requests, r.stats.Seen, r.stats.Restarts}, time.Now()
	is := fingerprint.Key(append([]string{asked.String()}, pairsOf(one.Values)...)...)
	if p.Asked == is {
		return owed, r.resumeSlice(ctx)
	}
	p.Asked = is
	r.pass = newPass(r.program.Paging, feed{order: r.program.Feed()}, max(r.pass.no, r.run.Checkpoint.Pass)+1)
	return owed, nil
}

// widen returns what is asked for of the parent in hand where others are asked for a window: one that is new is asked for from its
// beginning on, and one that was left out while it did not change from where it was last read.
func (p *parentRun) widen(w window.Window, since time.Time) (wide window.Window, wider bool) {
	switch {
	case p.isNew():
		return p.opens.Widen(w, since), true
	case p.opens.IsPicked(p.hand.Key, p.hand.Changed):
		return p.opens.Reach(w, p.hand.Key), true
	}
	return w, false
}

// isNew reports whether the parent in hand is read from its beginning.
func (p *parentRun) isNew() bool { return p.opens.IsNew(p.hand.Opened) || p.still[p.hand.Key] }

// stillNew returns the keys of parents of a slice that are new although they came before the others were read.
func stillNew(s slicing.Spec) map[record.Key]bool {
	if s.Opens == nil || len(s.Opens.Still) == 0 {
		return nil
	}
	out := make(map[record.Key]bool, len(s.Opens.Still))
	for _, name := range s.Opens.Still {
		if key, one := sector.KeyIn(name, s.Sector); one {
			out[key] = true
		}
	}
	return out
}

// countParent counts the parent in hand, where not all are asked for.
func (r *taskRun) countParent() {
	p, t := r.parents, &r.stats.Parents
	if p.picks == nil && (p.opens == nil || p.opens.Picked == nil) {
		return
	}
	why := slicing.NotPicked
	if p.picks != nil {
		why = p.picks.Choose(p.hand.Key, p.hand.Changed)
	}
	switch {
	case p.isNew():
		t.New++
	case why == slicing.ByChange:
		t.Changed++
	case why == slicing.ByTurn:
		t.Turn++
	default:
		t.Other++
	}
}

// measuredWindow returns in which time items that come late say how late the upstream is. Of a parent that is asked for beyond the
// window of the slice they say nothing of that: it was not asked for before.
func (r *taskRun) measuredWindow() window.Window {
	w := r.work.Passed.Intersect(r.expectedItems(nil).Window)
	if r.parents != nil {
		w = w.Intersect(r.parents.asked)
	}
	return w
}

// sweptBefore returns before which instant items of the parent in hand should have been announced; zero: nobody can tell.
func (r *taskRun) sweptBefore() time.Time {
	if r.parents == nil {
		return time.Time{}
	}
	return r.parents.swept
}

// pairsOf returns names and values in the order of the names.
func pairsOf(values map[string]string) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, name, values[name])
	}
	return out
}

// loseParent notes a parent that could not be read, and lets the run go on. It returns the error where that is not about the
// parent: several in a row that fail for what may pass are trouble of the upstream, and so are too many of them.
func (r *taskRun) loseParent(ctx context.Context, owed window.Window, cause error) error {
	p := r.parents
	if !r.isAboutParent(ctx, cause) {
		return cause
	}
	f := fault.As(cause)
	if f.Level == fault.Transient {
		if p.behind == 0 {
			p.before = p.RunWalk
		}
		if p.behind++; p.behind >= fewBehind {
			p.RunWalk = p.before
			return cause
		}
	}
	lost := ingest.LostParent{Name: r.parent.Name, Window: owed, Code: string(f.Code), Why: shorten(cause.Error())}
	if f.Code == fault.PartRefused {
		lost.Status = f.Status
	}
	if !p.hasRoom(lost) {
		return fmt.Errorf("%d records that are parts of the list could not be read, nor could the next one: %w", len(p.Lost), cause)
	}
	r.line().Warn("parent not read", "partition", r.parent.Name, "error", cause)
	p.Lost = append(slices.Clip(p.Lost), lost)
	r.failed, r.lost = nil, nil
	return nil
}

// shorten cuts a reason that is written with every page.
func shorten(why string) string { return why[:min(len(why), longestReason)] }

// isAboutParent reports whether an error says something about what was asked for, and not about this process, its lease, what
// the operator wants or what all requests need.
func (r *taskRun) isAboutParent(ctx context.Context, err error) bool {
	var f *fault.Error
	switch {
	case ctx.Err() != nil || !errors.As(err, &f):
		return false
	case errors.Is(err, fault.ErrStale) || errors.Is(err, fault.ErrFull) || errors.Is(err, fault.ErrBusy):
		return false
	case errors.As(err, new(limitSpent)) || errors.As(err, new(*trust.Refusal)):
		return false
	}
	return f.Level != fault.Fatal && f.Code != fault.RateLimited && f.Code != fault.Interrupted
}

// keepRun adds to the checkpoint of a page how far the run is read. Behind the last page of a parent the next one begins.
func (p *parentRun) keepRun(c ingest.Checkpoint, name string) ingest.Checkpoint {
	if c.Done {
		return ingest.Checkpoint{Pass: c.Pass, Run: &ingest.RunWalk{After: hex.EncodeToString(p.hand.Key[:]), Lost: p.Lost, Answered: p.withAnswered(name)}}
	}
	walk := p.RunWalk
	c.Run = &walk
	return c
}

// noteStored notes how far the run is read as the next one will find it.
func (p *parentRun) noteStored(c ingest.Checkpoint) { p.stored = c.Run.After }

// cameFurther reports whether parents were over since a checkpoint, and a later checkpoint says so. Parents that failed without
// any page stored behind them do not count: the next run asks for them again.
func (p *parentRun) cameFurther(last *ingest.RunWalk) bool {
	return p != nil && p.stored != "" && (last == nil || p.stored > last.After)
}

// outcome returns how a run ended that has lost some of its parents: it has failed, and what it read counts.
func (p *parentRun) outcome() ingest.Outcome {
	lost := slices.DeleteFunc(slices.Clone(p.Lost), func(l ingest.LostParent) bool { return l.Left })
	first, others := lost[0], ""
	switch len(lost) {
	case 1:
	case 2:
		others = " and another one"
	default:
		others = fmt.Sprintf(" and %d others", len(lost)-1)
	}
	return ingest.Outcome{
		Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: first.Code, Answered: true, Advanced: true,
		Error: fmt.Sprintf("partition %s%s could not be read: %s", first.Name, others, first.Why),
	}
}

// lostParents returns which parents failed in a run of which all others were read. Of a list that is read whole nobody lags alone:
// the reading counts or it does not.
func (r *taskRun) lostParents() []ingest.LostParent {
	if r.parents == nil || !r.parents.over || r.generation != nil {
		return nil
	}
	return r.parents.Lost
}

// sectorInHand returns the name of the part of the list that is asked for; none where there are no parts, or a run of them is over.
func (r *taskRun) sectorInHand() string {
	if r.program == nil || r.parents != nil && r.parents.over {
		return ""
	}
	return r.program.Sector()
}

package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// SourceTexts takes source files as texts that came over the network. Each is judged by
// what the installation lets such files want before anything else is done with it.
type SourceTexts struct {
	app    *App
	allow  registry.Remote
	trials chan struct{} // room for requests that are tried
}

// NewSourceTexts makes what takes source files under the rules of an installation.
func (a *App) NewSourceTexts(allow registry.Remote) *SourceTexts {
	return &SourceTexts{a, allow, make(chan struct{}, mostTrials)}
}

// Check finds all that is wrong with a text, also what only this database knows.
func (t *SourceTexts) Check(ctx context.Context, name string, text []byte) (view.CheckedFile, error) {
	f, problems := ReadSource(name, text)
	if f.Parsed != nil {
		problems = append(problems, f.Parsed.RemoteProblems(t.allow)...)
	}
	if len(problems) == 0 {
		stored, err := t.app.storedProblems(ctx, f.Parsed)
		if err != nil {
			return f, err
		}
		problems = stored
	}
	NoteProblems(&f, problems)
	f.Parsed = parsedIfGood(f)
	return f, nil
}

// parsedIfGood keeps the definition of a file only if nothing is wrong with it.
func parsedIfGood(f view.CheckedFile) *registry.Source {
	if len(f.Problems) > 0 {
		return nil
	}
	return f.Parsed
}

// Diff tells what applying a text would change, if nothing is wrong with it.
func (t *SourceTexts) Diff(ctx context.Context, name string, text []byte) (f view.CheckedFile, d view.SourceDifference, err error) {
	if f, err = t.Check(ctx, name, text); err != nil || f.Parsed == nil {
		return f, d, err
	}
	d, err = DiffSource(ctx, t.app, f)
	return f, d, err
}

// Apply makes a source what a text says, or tells what that would do if the act is a
// rehearsal. A text with problems changes nothing: they are in the file.
func (t *SourceTexts) Apply(ctx context.Context, text []byte, w view.ApplyWish, by ingest.Act) (f view.CheckedFile, done view.SourceApplied, err error) {
	if f, err = t.Check(ctx, w.Name, text); err != nil || f.Parsed == nil {
		return f, done, err
	}
	if w.Code != "" && w.Code != f.Source {
		return f, done, fmt.Errorf("%w: the file is of source %s, not of %s", fault.ErrInvalid, f.Source, w.Code)
	}
	o := registry.ApplyOptions{From: w.From, Actor: by.Actor, Reason: by.Reason, CancelScheduled: w.CancelScheduled}
	if o.Over, err = t.checkExpected(ctx, f.Parsed, w); err != nil {
		return f, done, err
	}
	if done, err = PreviewSource(ctx, t.app, f.Parsed, o); err != nil || by.Rehearsal {
		return f, done, err
	}
	if by.Actor == "" || by.Reason == "" {
		return f, done, fmt.Errorf("%w: applying a source needs an actor and a reason", fault.ErrInvalid)
	}
	replaces := done.Replaces
	if done, err = t.app.ApplySource(ctx, f.Parsed, o); err != nil {
		return f, done, t.nameChanges(ctx, err, w.Expected)
	}
	done.Replaces = replaces
	return f, done, nil
}

// checkExpected refuses a text that was made from another version than the one in force:
// it would take back what somebody else changed. It returns what the store has to find when
// it writes: between the two somebody else may be faster. A text that says what is in force
// changes nothing, whatever it was made from: it may be this very call, whose answer got lost.
func (t *SourceTexts) checkExpected(ctx context.Context, src *registry.Source, w view.ApplyWish) (over *string, err error) {
	if w.Any {
		return nil, nil
	}
	now, applied, err := t.app.Source(ctx, src.Code)
	if IsMissing(err) {
		now, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	over = new(string)
	if applied {
		*over = now.Fingerprint()
	}
	switch {
	case now == nil && w.Expected == "", now != nil && now.Fingerprint() == w.Expected, applied && len(registry.Diff(now, src)) == 0:
		return over, nil
	}
	return nil, t.nameChanges(ctx, &registry.ChangedError{Code: src.Code, New: w.Expected == ""}, w.Expected)
}

// mostNamed is how many changes of others an error names.
const mostNamed = 3

// nameChanges adds to the news that a source was changed who changed what, as far as that
// is known: versions back to the one that was expected.
func (t *SourceTexts) nameChanges(ctx context.Context, err error, expected string) error {
	var changed *registry.ChangedError
	if !errors.As(err, &changed) || changed.New {
		return err
	}
	since, wrong := t.app.Inspect.ChangesSince(ctx, changed.Code, expected)
	if wrong != nil {
		return err // the news matter more than who did it
	}
	for i, v := range since {
		if i == mostNamed {
			changed.Since += fmt.Sprintf(", and %d times before", len(since)-i)
			break
		}
		changed.Since += fmt.Sprintf(", by %s at %s (%s)", wording.OrDash(v.Actor), wording.SecondText(v.AppliedAt), wording.Shorten(strings.Join(v.Paths, ", "), mostPaths))
	}
	return changed
}

// mostPaths is how much of the changed keys an error names.
const mostPaths = 200

package daemon

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
)

// SourceTexts takes source files as texts that came over the network. Each is judged by
// what the installation lets such files want before anything else is done with it.
type SourceTexts struct {
	app   *App
	allow registry.Remote
}

// NewSourceTexts makes what takes source files under the rules of an installation.
func (a *App) NewSourceTexts(allow registry.Remote) *SourceTexts { return &SourceTexts{a, allow} }

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
	if err := t.checkExpected(ctx, f.Source, w); err != nil {
		return f, done, err
	}
	o := registry.ApplyOptions{From: w.From, Actor: by.Actor, Reason: by.Reason, CancelScheduled: w.CancelScheduled}
	if done, err = PreviewSource(ctx, t.app, f.Parsed, o); err != nil || by.Rehearsal {
		return f, done, err
	}
	if by.Actor == "" || by.Reason == "" {
		return f, done, fmt.Errorf("%w: applying a source needs an actor and a reason", fault.ErrInvalid)
	}
	done, err = t.app.ApplySource(ctx, f.Parsed, o)
	return f, done, err
}

// checkExpected refuses a text that was made from another version than the one in force:
// it would take back what somebody else changed.
func (t *SourceTexts) checkExpected(ctx context.Context, code string, w view.ApplyWish) error {
	if w.Any {
		return nil
	}
	now, err := t.app.Inspect.SourceFile(ctx, code, nil)
	switch {
	case IsMissing(err) && w.Expected == "":
		return nil
	case err != nil && !IsMissing(err):
		return err
	case now.Fingerprint == w.Expected:
		return nil
	case w.Expected == "":
		return fmt.Errorf("%w: source %s exists already: read it, change it and apply that", fault.ErrConflict, code)
	}
	return fmt.Errorf("%w: source %s was changed since it was read: read it again and change that", fault.ErrConflict, code)
}

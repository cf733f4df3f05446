package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Triggers queues work.
type Triggers interface {
	Trigger(ctx context.Context, w view.TriggerWish) (view.TriggerDone, error)
	// FillAs fills what is missing of a range; the same name is the same plan.
	FillAs(ctx context.Context, w view.FillWish, by ingest.Act) (view.Filling, error)
}

// triggerIn is work that is asked for. Settings cannot be overridden but for how urgent it is:
// others lead to hosts and secrets (R5).
type triggerIn struct {
	Source string `path:"source" maxLength:"64"`
	Key    string `header:"Idempotency-Key" maxLength:"64" doc:"Name of this request: called again with the same name, there is one plan (R11)."`
	Body   struct {
		Signed
		Operation string    `json:"operation" enum:"HARVEST,BACKFILL,UPDATE"`
		Endpoint  string    `json:"endpoint,omitempty" maxLength:"64" doc:"Default: the only one."`
		From      time.Time `json:"from,omitzero" doc:"Start of the window, included; default: where the operation goes on."`
		To        time.Time `json:"to,omitzero" doc:"End of the window, not included."`
		Retry     bool      `json:"retry,omitempty" doc:"Also windows that failed and whose retry time has not come."`
		Offline   bool      `json:"offline,omitempty" doc:"Do not ask the upstream for counts."`
		Priority  int       `json:"priority,omitempty" minimum:"1" maximum:"100" doc:"The smaller number goes first."`
	}
}

func (in *triggerIn) wish(who access.Caller) (view.TriggerWish, error) {
	b := in.Body
	w := view.TriggerWish{
		Source: in.Source, Endpoint: b.Endpoint, Operation: ingest.Operation(b.Operation), RequestID: in.Key, Scheduler: ingest.SchedulerAPI, Retry: b.Retry, Offline: b.Offline, By: b.act(who),
	}
	if !b.From.IsZero() {
		w.From = &b.From
	}
	if !b.To.IsZero() {
		w.To = &b.To
	}
	if w.From != nil || w.To != nil {
		w.Typed = textOf(w.From) + ".." + textOf(w.To)
	}
	if b.Priority != 0 {
		urgent, err := registry.ParseOverride(fmt.Sprintf("slicing.priority=%d", b.Priority))
		if err != nil {
			return w, err
		}
		w.Overrides = append(w.Overrides, urgent)
	}
	return w, nil
}

// textOf writes a bound of a window as a command line would; nothing where it is open.
func textOf(at *time.Time) string {
	if at == nil {
		return ""
	}
	return window.Text(*at)
}

func (a *api) registerTriggers() {
	act(a, access.Operator, "trigger", "/v1/sources/{source}/trigger", "plans", "Queue a plan, for whoever serves to work on; a dry run draws it",
		func(ctx context.Context, who access.Caller, in *triggerIn) (out view.TriggerDone, err error) {
			if err := a.checkSource(ctx, who, in.Source); err != nil {
				return out, err
			}
			w, err := in.wish(who)
			if err != nil {
				return out, err
			}
			return a.Triggers.Trigger(ctx, w)
		})
	type fillIn struct {
		Source string `path:"source" maxLength:"64"`
		Key    string `header:"Idempotency-Key" maxLength:"64" doc:"Name of this request: called again with the same name, there is one plan (R11)."`
		Body   struct {
			Signed
			Endpoint  string    `json:"endpoint,omitempty" maxLength:"64" doc:"Default: the only one."`
			Partition string    `json:"partition,omitempty" maxLength:"1024" doc:"Only this part of a list that is asked for in parts, such as set=cs, where it is behind the others."`
			From      time.Time `json:"from"`
			To        time.Time `json:"to"`
		}
	}
	act(a, access.Operator, "fill-gaps", "/v1/sources/{source}/fill", "plans", "Read what is missing of a range of time; a dry run tells what that takes",
		func(ctx context.Context, who access.Caller, in *fillIn) (out view.Filling, err error) {
			if err := a.checkSource(ctx, who, in.Source); err != nil {
				return out, err
			}
			w, err := window.New(in.Body.From, in.Body.To)
			if err != nil {
				return out, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
			}
			wish := view.FillWish{Key: in.Key, Source: in.Source, Endpoint: in.Body.Endpoint, Partition: in.Body.Partition, Within: w}
			return a.Triggers.FillAs(ctx, wish, in.Body.act(who))
		})
}

// Files takes source files as texts.
type Files interface {
	Check(ctx context.Context, name string, text []byte) (view.CheckedFile, error)
	Diff(ctx context.Context, name string, text []byte) (view.CheckedFile, view.SourceDifference, error)
	Apply(ctx context.Context, text []byte, w view.ApplyWish, by ingest.Act) (view.CheckedFile, view.SourceApplied, error)
}

// shownName is what a text is called that came over the network: it has no file.
const shownName = "source.yaml"

// FileText is a source file.
type FileText struct {
	YAML string `json:"yaml" minLength:"1" maxLength:"524288" doc:"The text of the source file."`
}

// appliedFile is what applying a file came to; with problems nothing was applied.
type appliedFile struct {
	view.SourceApplied
	Problems []view.FileProblem `json:"problems"`
	Warnings []view.FileWarning `json:"warnings"`
}

func (a *api) registerFiles() {
	type textIn struct{ Body FileText }
	check := op{Route: Route{Method: http.MethodPost, Path: "/v1/source-files/check", Role: access.Operator}, id: "check-source-file", tag: "sources", summary: "What is wrong with a source file, line by line; nothing is stored"}
	answer(a, check, func(ctx context.Context, _ access.Caller, in *textIn) (view.CheckedFile, error) {
		return a.Files.Check(ctx, shownName, []byte(in.Body.YAML))
	})
	diff := op{Route: Route{Method: http.MethodPost, Path: "/v1/source-files/diff", Role: access.Operator}, id: "diff-source-file", tag: "sources", summary: "What a source file would change; nothing is stored"}
	answer(a, diff, func(ctx context.Context, who access.Caller, in *textIn) (view.SourceDifference, error) {
		f, d, err := a.Files.Diff(ctx, shownName, []byte(in.Body.YAML))
		if err == nil && f.Source != "" && !who.Sees(f.Source) {
			err = errUnseen("source", f.Source)
		}
		if err == nil && len(f.Problems) > 0 {
			err = fileError(f.Problems)
		}
		return d, err
	})
	type applyIn struct {
		Source string `path:"source" maxLength:"64"`
		Match  string `header:"If-Match" maxLength:"128" doc:"ETag of the file that was changed; without it the source must not exist yet (R11)."`
		Body   struct {
			Signed
			FileText
			From            time.Time `json:"from,omitzero" doc:"When it begins to hold; default: at once."`
			CancelScheduled bool      `json:"cancelScheduled,omitempty" doc:"Give up versions that were scheduled."`
		}
	}
	act(a, access.Admin, "apply-source-file", "/v1/sources/{source}/apply", "sources", "Make a source what a file says; a dry run tells what that would do",
		func(ctx context.Context, who access.Caller, in *applyIn) (out appliedFile, err error) {
			if !who.Sees(in.Source) {
				return out, errUnseen("source", in.Source)
			}
			b := in.Body
			f, done, err := a.Files.Apply(ctx, []byte(b.YAML), view.ApplyWish{
				Name: shownName, Code: in.Source, Expected: unquote(in.Match), From: b.From, CancelScheduled: b.CancelScheduled,
			}, b.act(who))
			if err == nil && len(f.Problems) > 0 {
				err = fileError(f.Problems)
			}
			return appliedFile{done, f.Problems, f.Warnings}, err
		})
}

// unquote takes the quotes off an ETag.
func unquote(tag string) string {
	if n := len(tag); n >= 2 && tag[0] == '"' && tag[n-1] == '"' {
		return tag[1 : n-1]
	}
	return tag
}

// fileError is what is wrong with a file, for the answer.
func fileError(found []view.FileProblem) error {
	var all registry.Problems
	for _, p := range found {
		all = append(all, registry.Problem{Line: p.Line, Col: p.Col, Path: p.Path, Code: p.Code, Message: p.Message, Hint: p.Hint})
	}
	return all.Err()
}

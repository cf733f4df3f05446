package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/inspect"
	"github.com/patra-ingest/patra/internal/engine/trial"
)

// ChooseOperation returns the first operation that an endpoint can serve: one that is asked
// by id does not harvest.
func ChooseOperation(src *registry.Source, endpoint string) ingest.Operation {
	if operations := src.Operates(endpoint); len(operations) > 0 && !slices.Contains(operations, string(ingest.Harvest)) {
		return ingest.Operation(operations[0])
	}
	return ingest.Harvest
}

// roleDetail is the role of an endpoint that is asked by id.
const roleDetail = "DETAIL"

// compileAsk compiles what a wish chooses of a source, and says for which window; the zero
// window means by id.
func (t *SourceTexts) compileAsk(src *registry.Source, w view.AskWish, now time.Time) (*spec.Compiled, window.Window, error) {
	op := ChooseOperation(src, w.Endpoint)
	if w.Operation != "" {
		var err error
		if op, err = ingest.ParseOperation(w.Operation); err != nil {
			return nil, window.Window{}, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
		}
	}
	compiled, err := t.app.config.Installed.Compile(src, w.Endpoint, op, nil)
	if err != nil {
		return nil, window.Window{}, err
	}
	name := compiled.Snapshot.Endpoint
	if src.Endpoints[name].Role == roleDetail {
		if len(w.IDs) == 0 {
			err = fmt.Errorf("%w: endpoint %s is asked by id: name some ids", fault.ErrInvalid, name)
		}
		return compiled, window.Window{}, err
	}
	if len(w.IDs) > 0 {
		return nil, window.Window{}, fmt.Errorf("%w: endpoint %s is asked for a window, not by id", fault.ErrInvalid, name)
	}
	asked := compiled.Snapshot.UsualWindow(now)
	if w.From != nil {
		asked.From = *w.From
	}
	if w.To != nil {
		asked.To = *w.To
	}
	if asked, err = window.New(asked.From, asked.To); err != nil {
		err = fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	return compiled, asked, err
}

// Render writes the request that a text would make, if nothing is wrong with it. Nothing is
// sent.
func (t *SourceTexts) Render(ctx context.Context, name string, text []byte, w view.AskWish) (f view.CheckedFile, out view.RenderedRequest, err error) {
	if f, err = t.Check(ctx, name, text); err != nil || f.Parsed == nil {
		return f, out, err
	}
	now := time.Now().UTC()
	c, asked, err := t.compileAsk(f.Parsed, w, now)
	if err != nil {
		return f, out, err
	}
	s := c.Snapshot
	if out, err = inspect.RenderRequest(s, asked, w.IDs, s.Paging.First(), now); err != nil {
		return f, out, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	out.Origin, out.Credential = view.OriginFile, t.app.config.Installed.CredentialUse(s.Settings)
	return f, out, nil
}

// mostTrials is how many requests are tried at once (SECURITY R10).
const mostTrials = 2

// Try asks the upstream for one page as a text says, and tells what a run would make of it.
// It passes the gate that runs pass, wants the same consent, and stores nothing but who asked
// which host for it, into the audit log before the request leaves (R13).
func (t *SourceTexts) Try(ctx context.Context, name string, text []byte, w view.AskWish, by ingest.Act) (f view.CheckedFile, out *view.TriedPage, err error) {
	if f, err = t.Check(ctx, name, text); err != nil || f.Parsed == nil {
		return f, nil, err
	}
	if w.Code != "" && w.Code != f.Source {
		return f, nil, fmt.Errorf("%w: the file is of source %s, not of %s", fault.ErrInvalid, f.Source, w.Code)
	}
	select {
	case t.trials <- struct{}{}:
		defer func() { <-t.trials }()
	default:
		return f, nil, fmt.Errorf("%w: %d requests are being tried right now: try it in a moment", fault.ErrConflict, mostTrials)
	}
	now := time.Now().UTC()
	c, asked, err := t.compileAsk(f.Parsed, w, now)
	if err != nil {
		return f, nil, err
	}
	if err := t.app.guard.Check(ctx, c.Snapshot, f.Source, func() []trust.Use { return Uses(f.Parsed) }); err != nil {
		return f, nil, err
	}
	program, err := c.Snapshot.Program()
	if err != nil {
		return f, nil, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	leave, err := t.app.attendance.joinWithoutWriting(ctx)
	if err != nil {
		return f, nil, err
	}
	defer leave()
	tried := access.Reading{Kind: access.TryRequest, Object: "source/" + f.Source, Detail: map[string]any{"endpoint": c.Snapshot.Endpoint, "host": hostOf(c.Snapshot.HTTP.BaseURL)}}
	if err := t.app.store.NoteReading(ctx, tried, by); err != nil {
		return f, nil, err
	}
	result, err := trial.Run(ctx, t.app.guard.requestChain(t.app.requestGate()), program, TrialRequest{Window: asked, IDs: w.IDs, Page: 1, Now: now, Attempts: 1})
	if result == nil {
		return f, nil, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	return f, newTriedPage(result, err), nil
}

// hostOf is the host of an address: the rest of it may hold what is not for a log.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// newTriedPage tells a trial; err is why it ended early, which belongs to its last step.
func newTriedPage(r *TrialResult, err error) *view.TriedPage {
	p := &view.TriedPage{Endpoint: r.Endpoint, Request: r.Request, Response: r.Response, Seen: r.Seen, Mapped: r.Mapped, Rejected: r.Rejected}
	if d := r.Decision; d != nil {
		p.Paging = "last page: " + d.Why
		if !d.Done {
			p.Paging = "next page: " + d.Next
		}
		p.Trouble = d.Failed
	}
	for _, in := range r.Records {
		fields, _ := json.Marshal(in.Fields) // they came from a document: they can be written
		p.Records = append(p.Records, view.TriedRecord{ID: in.ID, Fields: string(fields)})
	}
	for _, bad := range r.Rejects {
		p.Rejects = append(p.Rejects, strings.TrimSpace(fmt.Sprintf("item %d %s: %s %s: %s", bad.Index, bad.ID, bad.Reason, bad.Path, bad.Detail)))
	}
	switch {
	case r.Detail != nil:
		p.Detail = newTriedPage(r.Detail, err)
	case err != nil:
		p.Trouble = troubleText(err)
	}
	return p
}

// troubleText tells why a request failed. What is not a fault of the exchange may name things
// of this machine (SECURITY R12).
func troubleText(err error) string {
	var f *fault.Error
	if errors.As(err, &f) || errors.Is(err, fault.ErrNotFound) {
		return err.Error()
	}
	return "the request could not be made; the command line tells why: patra source test"
}

// Package replay does a batch again, from its black box: it renders the request,
// reads the kept answer or asks the upstream through the gate, decides, and
// reports what is not as it was (§14.9.2). It exports black boxes, and compares
// two runs by the answers that are kept of them.
//
// It writes nothing and publishes nothing (I13): the one thing it tells the store
// is that a bundle left the house, which is noted before it does.
package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// Where a replay takes the answer from, and under which snapshot it reads it.
const (
	FromRaw      = "raw"
	FromUpstream = "upstream"
	SpecThen     = "then"
	SpecNow      = "now"
)

// Options say how a batch is done again.
type Options struct {
	From string         // FromRaw or FromUpstream
	Now  *spec.Snapshot // read under this one; nil reads under the one of then
	// Refresh walks to the page from the first one, where its token is dead.
	Refresh bool
	At      time.Time
}

// Heads gives stored records by their ids, with the batches that wrote them.
type Heads func(ctx context.Context, ids []string) ([]blackbox.Head, error)

// Case is a batch to be done again.
type Case struct {
	Box   *blackbox.Box
	Body  []byte // nil: not kept any more
	Sum   string // its SHA-256, if it was checked when it was read
	Gone  error  // why
	Heads Heads
}

// Again does a batch again. The chain is only used to ask the upstream.
func Again(ctx context.Context, c Case, chain transport.Doer, o Options) (*blackbox.Report, error) {
	then, err := programOf(c.Box)
	if err != nil {
		return nil, err
	}
	if o.From == FromRaw && c.Body == nil {
		return nil, c.Gone
	}
	a := &again{Case: c, chain: chain, options: o, then: then, program: then}
	a.report = blackbox.NewReport(c.Box, o.From, SpecThen, o.At)
	if o.Now != nil {
		if a.program, err = a.declaredProgram(); err != nil {
			return nil, err
		}
	}
	if a.role, err = c.Box.RoleUnder(a.program); err != nil {
		return nil, err
	}
	a.report.Asks(c.Box, a.program, a.role, o.Now != nil)
	if err := a.compareAll(ctx); err != nil {
		return nil, err
	}
	return a.report.Close(), nil
}

// programOf compiles the snapshot of a batch. The fingerprint says that it is the
// one the batch ran under.
func programOf(b *blackbox.Box) (*spec.Program, error) {
	if got := fingerprint.Bytes(b.Snapshot); got != b.Keys.SpecFingerprint {
		return nil, fmt.Errorf("%w: the stored snapshot has the fingerprint %s, the batch ran under %s: the database is damaged", fault.ErrConflict, got, b.Keys.SpecFingerprint)
	}
	snapshot, err := spec.Load(b.Snapshot)
	if err != nil {
		return nil, err
	}
	return snapshot.Program()
}

// again is one replay.
type again struct {
	Case
	chain         transport.Doer
	options       Options
	then, program *spec.Program
	role          blackbox.Role
	report        *blackbox.Report
}

// declaredProgram returns the program of the source as it is declared now.
func (a *again) declaredProgram() (*spec.Program, error) {
	compiled, err := a.options.Now.Compiled()
	if err != nil {
		return nil, err
	}
	a.report.Spec, a.report.SpecNow = SpecNow, compiled.Fingerprint
	return compiled.Snapshot.Program()
}

// compareAll goes from what the ledger says over what the kept answer says to what
// was asked for, so that each difference has one cause.
func (a *again) compareAll(ctx context.Context) error {
	kept, err := a.readKept(ctx)
	if err != nil || a.options.From == FromRaw {
		return err
	}
	answer, err := a.askUpstream(ctx)
	if err != nil {
		return err
	}
	fresh := a.Box.Read(a.program, a.role, answer, "")
	a.report.Show(fresh)
	if kept != nil {
		a.report.Answered(kept, fresh)
		return nil
	}
	a.report.Note("compared with the ledger only: " + a.Gone.Error())
	heads, err := a.readHeads(ctx, fresh)
	if err == nil {
		a.report.Upstreams(a.Box, a.role, fresh, heads)
	}
	return err
}

// readKept reads the kept answer: under the snapshot of then it must say what the
// ledger says, under that of now it shows what was declared otherwise.
func (a *again) readKept(ctx context.Context) (*blackbox.Reading, error) {
	if a.Body == nil {
		return nil, nil
	}
	role, err := a.Box.RoleUnder(a.then)
	if err != nil {
		return nil, err
	}
	read := a.Box.Read(a.then, role, a.Box.Answer(a.Body), a.Sum)
	a.report.Show(read)
	heads, err := a.readHeads(ctx, read)
	if err != nil {
		return nil, err
	}
	a.report.Reproduces(a.Box, role, read, heads)
	if a.Box.Scrubbed {
		a.report.Note("the value of a credential was masked in the body when it was exported")
	}
	if a.options.Now == nil {
		return read, nil
	}
	now := a.Box.Read(a.program, a.role, a.Box.Answer(a.Body), a.Sum)
	a.report.Show(now)
	a.report.Declared(read, now)
	return now, nil
}

func (a *again) readHeads(ctx context.Context, of *blackbox.Reading) ([]blackbox.Head, error) {
	ids := a.Box.Asked(of)
	if len(ids) == 0 || a.Heads == nil {
		return a.Box.Heads, nil
	}
	return a.Heads(ctx, ids)
}

var errOffline = errors.New("no way to the upstream")

package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// Guard stands between source files and this machine (D§5.30): it reads a secret
// only for a host that the installation agreed to. Consent is in patra.yaml, in a
// file of the user, or for a server in its tables; never in a source file, and
// never in a database that is a file.
type Guard struct {
	in      Installed
	db      *store.Store // nil without one; its log hears of what is agreed to
	bundled bundled
	// alone does something under a lease of the database; nil without one.
	alone    func(ctx context.Context, name string, do func(context.Context, func() error) error) error
	rotating chan struct{} // one at a time of this process

	mu       sync.Mutex
	recorded []trust.Consent
	read     time.Time
}

// Guard returns that of commands that work without a database.
func (in Installed) Guard() *Guard { return &Guard{in: in} }

func newGuard(in Installed, db *store.Store) *Guard {
	return &Guard{in: in, db: db, rotating: make(chan struct{}, 1)}
}

// inTables reports whether consent is kept in the tables of a server.
func (g *Guard) inTables() bool { return g.db != nil && g.db.Dialect() != "sqlite" }

// Kept says where consent is kept, for people.
func (g *Guard) Kept() string {
	if g.inTables() {
		return "the database"
	}
	return g.in.agreed.Path()
}

// Consents lists what was agreed to, patra.yaml apart.
func (g *Guard) Consents(ctx context.Context) ([]trust.Consent, error) {
	if g.inTables() {
		return g.db.Consents(ctx)
	}
	return g.in.agreed.Consents()
}

// How long what is recorded is believed: consent that is given is found within a
// second where it is missed, and one that is taken back ends within ten.
const (
	believed = 10 * time.Second
	missed   = time.Second
)

// agreedTo reports whether the installation agreed to a use.
func (g *Guard) agreedTo(ctx context.Context, u trust.Use) (bool, error) {
	if g.Holds(u) {
		return true, nil
	}
	is := func(c trust.Consent) bool { return c.Use == u }
	g.mu.Lock()
	defer g.mu.Unlock()
	age := time.Since(g.read)
	if known := slices.ContainsFunc(g.recorded, is); g.read.IsZero() || age > believed || !known && age > missed {
		recorded, err := g.Consents(ctx)
		if err != nil {
			return false, err
		}
		g.recorded, g.read = recorded, time.Now()
	}
	return slices.ContainsFunc(g.recorded, is), nil
}

// agreedToAll reports that a reference may go to all hosts that some uses name for it.
func (g *Guard) agreedToAll(ctx context.Context, ref secret.Ref, uses []trust.Use) bool {
	named := false
	for _, u := range uses {
		if u.Ref.Secret() != ref {
			continue
		}
		if refused, err := g.refusalOf(ctx, u, true); err != nil || refused != nil {
			return false
		}
		named = true
	}
	return named
}

// Reveal finds the value of a reference for a request. What leads to nothing is
// told before consent is asked for: nothing could be sent.
func (g *Guard) Reveal(ctx context.Context, ref secret.Ref, to secret.Purpose) (secret.Text, error) {
	u, limited := trust.Use{Ref: trust.OfSecret(ref), Host: to.Host}, g.in.limitedSecrets()
	if limited.Absent(ref) {
		return secret.Text{}, fmt.Errorf("%s: %w", ref, secret.ErrAbsent)
	}
	refused, err := g.refusalOf(ctx, u, true) // also what comes only now needs consent
	switch {
	case err != nil:
		return secret.Text{}, err
	case refused != nil:
		return secret.Text{}, refused
	}
	return limited.Reveal(ctx, ref, to)
}

// MaySend refuses to send something of this machine to a host, unless that was agreed to.
func (g *Guard) MaySend(ctx context.Context, u trust.Use) error {
	refused, err := g.refusalOf(ctx, u, true)
	if err == nil && refused != nil {
		return refused
	}
	return err
}

// refusalOf returns why a use may not happen, or nil. A reference that leads to
// nothing is not a use, unless elsewhere is set: then the process that runs the source
// may have other variables.
func (g *Guard) refusalOf(ctx context.Context, u trust.Use, elsewhere bool) (*trust.Refusal, error) {
	if refused := g.in.limitedSecrets().Refuses(u); refused != nil {
		return refused, nil
	}
	if !elsewhere && g.in.limitedSecrets().Absent(u.Ref.Secret()) {
		return nil, nil
	}
	agreed, err := g.agreedTo(ctx, u)
	if err != nil || agreed {
		return nil, err
	}
	return &trust.Refusal{Use: u, Why: trust.NotAgreed}, nil
}

// Refused lists which uses may not happen.
func (g *Guard) Refused(ctx context.Context, uses []trust.Use) ([]trust.Refusal, error) {
	return g.refusalsOf(ctx, uses, false)
}

func (g *Guard) refusalsOf(ctx context.Context, uses []trust.Use, elsewhere bool) (out []trust.Refusal, err error) {
	for _, u := range uses {
		refused, err := g.refusalOf(ctx, u, elsewhere)
		if err != nil {
			return nil, err
		}
		if refused != nil {
			out = append(out, *refused)
		}
	}
	return out, nil
}

// Check stops a run before it asks for anything, if it would use what was not agreed
// to. own lists the uses of the source without the settings of the run: a command that
// names the source, as it was typed, agrees to those.
func (g *Guard) Check(ctx context.Context, s spec.Snapshot, typed string, own func() []trust.Use) error {
	refused, err := g.Refused(ctx, trust.Of(s))
	if err != nil || len(refused) == 0 {
		return err
	}
	stopped := &trust.Stopped{What: "source " + s.Source, Refused: refused}
	known := own()
	foreign := func(r trust.Refusal) bool { return !slices.Contains(known, r.Use) }
	if !slices.ContainsFunc(refused, foreign) {
		stopped.Command = "patra source trust " + typed
	}
	return stopped
}

// Agree records consent, and the act in the log of the database if there is one.
func (g *Guard) Agree(ctx context.Context, uses []trust.Use, by ingest.Act) error {
	if by.Rehearsal || len(uses) == 0 {
		return nil
	}
	defer g.forgetConsents()
	if g.inTables() {
		return g.db.AgreeTo(ctx, uses, by)
	}
	if err := g.in.agreed.Agree(uses, trust.By{Actor: by.Actor, Reason: by.Reason}, time.Now()); err != nil {
		return err
	}
	return g.noteConsent(ctx, trust.Agreed, uses, by)
}

// Withdraw takes consent back.
func (g *Guard) Withdraw(ctx context.Context, uses []trust.Use, by ingest.Act) error {
	if by.Rehearsal || len(uses) == 0 {
		return nil
	}
	defer g.forgetConsents()
	if g.inTables() {
		return g.db.Withdraw(ctx, uses, by)
	}
	if err := g.in.agreed.Withdraw(uses, trust.By{Actor: by.Actor, Reason: by.Reason}, time.Now()); err != nil {
		return err
	}
	return g.noteConsent(ctx, trust.Withdrawn, uses, by)
}

func (g *Guard) noteConsent(ctx context.Context, action string, uses []trust.Use, by ingest.Act) error {
	if g.db == nil {
		return nil
	}
	return g.db.NoteTrust(ctx, action, uses, by)
}

// forgetConsents reads what is recorded anew when it is next asked for.
func (g *Guard) forgetConsents() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read = time.Time{}
}

// requestChain returns the chain that every request passes through.
func (g *Guard) requestChain(permits transport.Permits) transport.Doer {
	proxy := func(ctx context.Context, ref secret.Ref) (secret.Text, error) {
		return g.Reveal(ctx, ref, secret.Purpose{Host: trust.Proxy})
	}
	return transport.StackSigned(httpclient.New(httpclient.Options{Reveal: proxy}), g, permits)
}

// IsUntrusted reports that something was stopped because it was not agreed to.
func IsUntrusted(err error) bool {
	var stopped *trust.Stopped
	var refused *trust.Refusal
	return errors.As(err, &stopped) || errors.As(err, &refused)
}

// Holds reports that a use is agreed to by patra.yaml, or comes with the program.
func (g *Guard) Holds(u trust.Use) bool { return g.in.Trust.Allows(u) || g.bundled.hasUse(u) }

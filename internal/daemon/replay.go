package daemon

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/driver/bundle"
	"github.com/patra-ingest/patra/internal/engine/replay"
)

// These let the command line name them without reaching into the engine.
type (
	ReplayOptions = replay.Options
	BatchRef      = replay.Ref
)

// Where a replay takes the answer from.
const (
	ReplayRaw      = replay.FromRaw
	ReplayUpstream = replay.FromUpstream
)

// Replays does batches of a database again, and packs them for others who do.
type Replays struct{ app *App }

// newService makes what does batches of this database again.
func (r *Replays) newService() *replay.Service { return r.serviceNaming(r.app.config.Raw.Dir) }

// serviceNaming makes the same where the folder of bodies goes by a name.
func (r *Replays) serviceNaming(folder string) *replay.Service {
	a := r.app
	raw := a.config.Raw
	return replay.New(&replayReader{Store: a.store, app: a}, a.answers(), a.guard.requestChain(a.requestGate()), replay.Keeping{For: raw.KeepFor, MaxBytes: raw.MaxBytes, Where: folder})
}

// Replay does a batch again and writes nothing. Only where others send, it is one of
// those who share the limits of the upstream it asks, until it has ended (I11, I13).
func (r *Replays) Replay(ctx context.Context, ref BatchRef, o ReplayOptions) (*blackbox.Report, error) {
	if o.From == ReplayUpstream {
		leave, err := r.app.attendance.joinWithoutWriting(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	return r.newService().Replay(ctx, ref, o)
}

// FindAim finds the endpoint and the operation of a batch.
func (r *Replays) FindAim(ctx context.Context, ref BatchRef) (ingest.Partition, error) {
	c, err := r.newService().Find(ctx, ref)
	if err != nil {
		return ingest.Partition{}, err
	}
	return partitionOf(c.Box), nil
}

func partitionOf(b *blackbox.Box) ingest.Partition {
	return ingest.Partition{Dataset: ingest.Dataset{Source: b.Batch.Source, Endpoint: b.Endpoint}, Operation: ingest.Operation(b.Batch.Operation)}
}

// Bundle is a black box in a file.
type Bundle struct {
	Manifest  blackbox.Manifest
	Partition ingest.Partition
	opened    replay.Case
}

// OpenBundle reads a bundle and refuses one that expired or was changed. It needs
// no database and no network.
func OpenBundle(path, seal string, now time.Time) (*Bundle, error) {
	parts, err := bundle.Read(path, seal, now)
	if err != nil {
		return nil, err
	}
	c, m, err := replay.Open(parts, seal, now)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Bundle{m, partitionOf(c.Box), c}, nil
}

// Replay does the batch of a bundle again, from its own body. Its host is never
// asked.
func (b *Bundle) Replay(ctx context.Context, o ReplayOptions) (*blackbox.Report, error) {
	report, err := replay.Again(ctx, b.opened, nil, o)
	if err == nil {
		report.Bundle = &b.Manifest
	}
	return report, err
}

// Export is what a bundle is made for.
type Export struct {
	By      ingest.Act
	Path    func(m blackbox.Manifest) string
	Expires time.Duration
	At      time.Time
	Remote  bool // for somebody elsewhere: no folder of this machine is named (R12)
}

// Exported is what became of an export.
type Exported struct {
	Manifest blackbox.Manifest `json:"manifest"`
	File     string            `json:"file"`
	Bytes    int               `json:"bytes"`
	DryRun   bool              `json:"dryRun,omitempty"`
}

// Export writes the black box of a batch into a file. The audit log has the export
// before the file exists: every bundle has a person who answers for it.
func (r *Replays) Export(ctx context.Context, ref BatchRef, e Export) (out Exported, err error) {
	service := r.newService()
	if e.Remote {
		service = r.serviceNaming("its folder")
	}
	c, err := service.Find(ctx, ref)
	if err != nil {
		return out, err
	}
	snapshot, err := spec.Load(c.Box.Snapshot)
	if err != nil {
		return out, err
	}
	order := replay.Order{By: e.By, At: e.At, Expires: e.Expires, Mask: r.app.liveSecrets(ctx, &snapshot).Bytes}
	m, parts, err := replay.Pack(ctx, c, order)
	if err != nil {
		return out, err
	}
	content, err := bundle.Encode(parts, m.CreatedAt)
	if err != nil {
		return out, err
	}
	out = Exported{Manifest: m, File: e.Path(m), Bytes: len(content), DryRun: e.By.Rehearsal}
	if err := bundle.Free(out.File); err != nil {
		return out, err
	}
	if err := service.Note(ctx, m, e.By); err != nil || e.By.Rehearsal {
		return out, err
	}
	return out, bundle.Write(out.File, content)
}

// liveSecrets hides the credentials of a source as they are now. Commands are not run
// for it: what they give was masked when the answer came. A snapshot may be that of a
// stranger: what was not agreed to is not read either, as no request was sent with it
// from here (D§5.30).
func (a *App) liveSecrets(ctx context.Context, s *spec.Snapshot) *secret.Masker {
	var values []secret.Text
	uses := trust.Of(*s)
	read := func(ref secret.Ref) secret.Text {
		if scheme, _ := ref.Split(); ref.IsZero() || scheme == "exec" || !a.guard.agreedToAll(ctx, ref, uses) {
			return secret.Text{}
		}
		text, err := a.config.Installed.limitedSecrets().Reveal(ctx, ref, secret.Purpose{Signs: true}) // it goes nowhere
		if err != nil {
			return secret.Text{} // what is not there cannot be in a bundle either
		}
		return text
	}
	for ; s != nil; s = s.Detail {
		for _, c := range s.AllCredentials() {
			values = append(values, credentialValues(c, read)...)
		}
		values = append(values, read(s.HTTP.Proxy))
	}
	return secret.NewMasker(values...)
}

// credentialValues returns what a credential is made of, as requests carry it.
func credentialValues(c exchange.Credential, read func(secret.Ref) secret.Text) []secret.Text {
	value, password, client, refresh, sign := read(c.Value), read(c.Password), read(c.ClientSecret), read(c.RefreshToken), read(c.Sign.Key)
	jwt := read(c.JWT.Key)
	out := []secret.Text{value, password, client, refresh, sign, jwt, read(c.Sign.Token)}
	var named secret.Text
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		named = read(c.Secrets[name])
		out = append(out, named)
	}
	key := func(all ...secret.Text) (first secret.Text) {
		for _, text := range all {
			if first.IsZero() {
				first = text
			}
		}
		return first
	}
	user := read(c.Username)
	if !user.IsZero() && !password.IsZero() {
		out = append(out, secret.New(base64.StdEncoding.EncodeToString([]byte(user.Reveal()+":"+password.Reveal()))))
	}
	out = secret.WithName(out, user, key(password, value, jwt, named))
	out = secret.WithName(out, read(c.ClientID), key(client, refresh, jwt, password))
	out = secret.WithName(out, read(c.JWT.KeyID), jwt)
	return secret.WithName(out, read(c.Sign.KeyID), sign)
}

// DiffRuns compares two runs batch by batch. Both must be in the database.
func (r *Replays) DiffRuns(ctx context.Context, one, other int64) (*blackbox.RunDiff, error) {
	diff, err := r.newService().Diff(ctx, one, other)
	if IsMissing(err) {
		if archived := r.app.archivedRun(ctx, one, other); archived != nil {
			return nil, archived
		}
	}
	return diff, err
}

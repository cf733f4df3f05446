package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// Store is what replaying needs of the store.
type Store interface {
	BatchReader
	EvidenceStore
}

// BatchReader finds the runs and batches that are replayed.
type BatchReader interface {
	Runs(ctx context.Context, f view.Filter) ([]view.Run, error)
	Batches(ctx context.Context, f view.Filter) ([]view.Batch, error)
	Batch(ctx context.Context, id int64) (view.Batch, error)
	BatchOf(ctx context.Context, runID int64, no int) (int64, error)
}

// EvidenceStore reads what a batch was made of, and notes that it was exported.
type EvidenceStore interface {
	Box(ctx context.Context, batchID int64) (*blackbox.Box, error)
	AnswerBox(ctx context.Context, batchID int64) (*blackbox.Box, error)
	HeadsOf(ctx context.Context, datasetID int64, ids []string) ([]blackbox.Head, error)
	NoteExport(ctx context.Context, m blackbox.Manifest, by ingest.Act) error
}

// Bodies reads kept bodies by their SHA-256, and checks it; fault.ErrNotFound means
// that one is not kept any more.
type Bodies interface {
	Get(ctx context.Context, ref string) ([]byte, error)
}

// Keeping is how long bodies are kept, to explain one that is gone.
type Keeping struct {
	For      time.Duration
	MaxBytes int64
	Where    string
}

// Service replays and exports what a store has.
type Service struct {
	store  Store
	bodies Bodies // nil: this process knows no folder
	chain  transport.Doer
	keeps  Keeping
}

// New makes a service.
func New(s Store, bodies Bodies, chain transport.Doer, keeps Keeping) *Service {
	return &Service{s, bodies, chain, keeps}
}

// Ref names a batch: by its id, or by its run and its number in it.
type Ref struct {
	BatchID int64
	RunID   int64
	No      int
}

// Find opens the black box of a batch, with its body if that is kept.
func (s *Service) Find(ctx context.Context, ref Ref) (c Case, err error) {
	if ref.BatchID == 0 {
		if ref.BatchID, err = s.store.BatchOf(ctx, ref.RunID, ref.No); err != nil {
			return c, fmt.Errorf("run %d has no batch %d: %w", ref.RunID, ref.No, err)
		}
	}
	kept := s.fetchBody(ctx, ref.BatchID)
	c.Box, err = s.store.Box(ctx, ref.BatchID)
	body := <-kept
	if err != nil {
		return c, fmt.Errorf("batch %d: %w", ref.BatchID, err)
	}
	dataset := c.Box.DatasetID
	c.Heads = func(ctx context.Context, ids []string) ([]blackbox.Head, error) {
		return s.store.HeadsOf(ctx, dataset, ids)
	}
	c.Body, c.Gone, err = s.bodyOf(c.Box, body)
	if c.Body != nil {
		c.Sum = c.Box.Batch.Raw
	}
	return c, err
}

// Items reads the kept answer of a batch again, as the batch did.
func (s *Service) Items(ctx context.Context, batchID int64) ([]record.Incoming, error) {
	box, err := s.store.AnswerBox(ctx, batchID)
	if err != nil {
		return nil, fmt.Errorf("batch %d: %w", batchID, err)
	}
	body, gone, err := s.bodyOf(box, <-s.fetchBody(ctx, batchID))
	if err != nil || body == nil {
		return nil, errors.Join(err, gone)
	}
	program, err := programOf(box)
	if err != nil {
		return nil, err
	}
	role, err := box.RoleUnder(program)
	if err != nil {
		return nil, err
	}
	read := box.Read(program, role, box.Answer(body), box.Batch.Raw)
	if read.Err != nil {
		return nil, fmt.Errorf("%w: batch %d: its kept answer cannot be read: %w", fault.ErrInvalid, batchID, read.Err)
	}
	return read.Records, nil
}

// fetched is a body, or why it is not there.
type fetched struct {
	body []byte
	err  error
}

// fetchBody reads the body of a batch while its box is opened: both take their time.
func (s *Service) fetchBody(ctx context.Context, batchID int64) <-chan fetched {
	out := make(chan fetched, 1)
	go func() {
		var got fetched
		batch, err := s.store.Batch(ctx, batchID)
		if got.err = err; err == nil && batch.Raw != "" && s.bodies != nil {
			got.body, got.err = s.bodies.Get(ctx, batch.Raw)
		}
		out <- got
	}()
	return out
}

// bodyOf gives the body of a batch, or says why it is not there.
func (s *Service) bodyOf(b *blackbox.Box, kept fetched) (body []byte, gone, err error) {
	switch answer := b.Response(); {
	case b.Batch.Raw != "" && s.bodies != nil:
		if !errors.Is(kept.err, fault.ErrNotFound) {
			return kept.body, nil, kept.err
		}
		return nil, s.explainGone(b, kept.err), nil
	case b.Batch.Raw != "":
		return nil, fmt.Errorf("%w: batch %d: its body was kept, but no folder of raw bodies is known: name it with --raw-dir or PATRA_RAW_DIR", fault.ErrNotFound, b.Batch.ID), nil
	case answer == nil:
		return nil, fmt.Errorf("%w: batch %d has no body: no answer came: %s", fault.ErrNotFound, b.Batch.ID, b.Batch.Error), nil
	case answer.Status/100 != 2:
		return nil, fmt.Errorf("%w: batch %d has no body: the answer was HTTP %d, and only bodies of good answers are kept", fault.ErrNotFound, b.Batch.ID, answer.Status), nil
	}
	return nil, fmt.Errorf("%w: batch %d has no body: the process that read it kept none (--no-raw, or no folder for them)", fault.ErrNotFound, b.Batch.ID), nil
}

// explainGone says since when a body is gone, as far as that can be known, and why.
func (s *Service) explainGone(b *blackbox.Box, why error) error {
	if errors.Is(why, view.ErrItemsRemoved) || s.keeps.Where == "" {
		return fmt.Errorf("batch %d: its body (sha256 %s): %w", b.Batch.ID, b.Batch.Raw, why)
	}
	at := b.At()
	end := at.Add(s.keeps.For)
	return fmt.Errorf("%w: batch %d: its body of %s (sha256 %s) is not in %s any more: bodies are kept for %s, that is until %s, and for less if all of them together exceed %d bytes",
		fault.ErrNotFound, b.Batch.ID, at.UTC().Format(time.RFC3339), b.Batch.Raw, s.keeps.Where, s.keeps.For, end.UTC().Format(time.RFC3339), s.keeps.MaxBytes)
}

// Replay does a batch of the store again.
func (s *Service) Replay(ctx context.Context, ref Ref, o Options) (*blackbox.Report, error) {
	c, err := s.Find(ctx, ref)
	if err != nil {
		return nil, err
	}
	return Again(ctx, c, s.chain, o)
}

// Order is what a bundle is made for.
type Order struct {
	By      ingest.Act
	At      time.Time
	Expires time.Duration
	Mask    func([]byte) []byte // takes the values of credentials out
}

// Pack makes the bundle of a batch. Nothing is noted yet.
func Pack(ctx context.Context, c Case, o Order) (blackbox.Manifest, map[string][]byte, error) {
	m := blackbox.Manifest{CreatedAt: o.At.UTC(), ExpiresAt: o.At.Add(o.Expires).UTC(), Actor: o.By.Actor, Reason: o.By.Reason}
	if o.By.Reason == "" {
		return m, nil, fmt.Errorf("%w: a reason is needed: the next person who finds the bundle will ask for it", fault.ErrInvalid)
	}
	if o.Expires <= 0 {
		return m, nil, fmt.Errorf("%w: a bundle must expire in the future", fault.ErrInvalid)
	}
	if c.Gone != nil {
		m.NoBody = c.Gone.Error()
	}
	then, err := programOf(c.Box)
	if err != nil {
		return m, nil, err
	}
	if c.Body != nil { // the records it left alone are known by its answer only
		role, err := c.Box.RoleUnder(then)
		if err != nil {
			return m, nil, err
		}
		if ids := c.Box.Asked(c.Box.Read(then, role, c.Box.Answer(c.Body), c.Sum)); len(ids) > 0 {
			if c.Box.Heads, err = c.Heads(ctx, ids); err != nil {
				return m, nil, err
			}
		}
	}
	return blackbox.Pack(*c.Box, c.Body, m, o.Mask)
}

// Note logs that a bundle is about to leave.
func (s *Service) Note(ctx context.Context, m blackbox.Manifest, by ingest.Act) error {
	return s.store.NoteExport(ctx, m, by)
}

// Open makes a case of a bundle. Its host is never asked: a bundle is replayed
// from its own body.
func Open(parts map[string][]byte, seal string, now time.Time) (c Case, m blackbox.Manifest, err error) {
	c.Box, c.Body, m, err = blackbox.Unpack(parts, seal, now)
	if err == nil && c.Body == nil {
		c.Gone = fmt.Errorf("%w: the bundle has no body: %s", fault.ErrNotFound, m.NoBody)
	}
	return c, m, err
}

// Diff compares two runs batch by batch.
func (s *Service) Diff(ctx context.Context, a, b int64) (*blackbox.RunDiff, error) {
	var runs [2]view.Run
	var pages [2][]blackbox.PageOf
	for i, id := range []int64{a, b} {
		found, err := s.store.Runs(ctx, view.Filter{RunID: id, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("run %d: %w", id, fault.ErrNotFound)
		}
		runs[i] = found[0]
		if pages[i], err = s.readPages(ctx, id); err != nil {
			return nil, err
		}
	}
	return blackbox.DiffRuns(runs[0], runs[1], pages[0], pages[1]), nil
}

// batchesAtOnce is how many batches of a run are listed by one query.
const batchesAtOnce = 200

// readPages reads the kept answers of a run. One that is gone is compared by its
// numbers.
func (s *Service) readPages(ctx context.Context, run int64) (out []blackbox.PageOf, err error) {
	for before := int64(0); ; {
		list, err := s.store.Batches(ctx, view.Filter{RunID: run, Before: before, Limit: batchesAtOnce})
		if err != nil {
			return nil, err
		}
		for _, b := range list {
			page, err := s.readPage(ctx, b)
			if err != nil {
				return nil, err
			}
			out, before = append(out, page), b.ID
		}
		if len(list) < batchesAtOnce {
			break
		}
	}
	slices.Reverse(out) // oldest first
	return out, nil
}

func (s *Service) readPage(ctx context.Context, b view.Batch) (blackbox.PageOf, error) {
	if b.Status == string(ingest.BatchFailed) {
		return blackbox.PageOf{Batch: b}, nil // nothing was taken of it, with a body or without
	}
	c, err := s.Find(ctx, Ref{BatchID: b.ID})
	if err != nil {
		return blackbox.PageOf{}, err
	}
	if c.Body == nil {
		return blackbox.PageOf{Batch: b, Unread: c.Gone.Error()}, nil
	}
	then, err := programOf(c.Box)
	if err != nil {
		return blackbox.PageOf{}, err
	}
	role, err := c.Box.RoleUnder(then)
	if err != nil {
		return blackbox.PageOf{}, err
	}
	return blackbox.NewPage(b, c.Box.Read(then, role, c.Box.Answer(c.Body), c.Sum)), nil
}

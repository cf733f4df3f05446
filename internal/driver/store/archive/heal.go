package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// HealAction is what the audit log calls a remedy.
const HealAction = "db.heal"

// BrokenFrames looks at some frames behind one and returns those that do not fit their
// hashes.
func (s *Archive) BrokenFrames(ctx context.Context, after int64) (found []integrity.BrokenFrame, next int64, end bool, err error) {
	frames, err := bodies.ReadWhole(s.db.Ask(ctx), after)
	if err != nil {
		return nil, after, false, kernel.Wrap("look for broken frames", s.db.Translate(err))
	}
	for i := range frames {
		f := &frames[i]
		next = f.ID
		_, why := f.Open()
		if why == nil {
			continue
		}
		broken := integrity.BrokenFrame{ID: f.ID, Why: plainDamage(why)}
		if mended, err := f.Mend(); err == nil {
			_, err = mended.Open()
			broken.Mendable = err == nil
			entries, err := mended.Entries()
			if err != nil {
				return nil, after, false, kernel.Wrap("look for broken frames", err)
			}
			for _, e := range entries {
				broken.Versions = append(broken.Versions, integrity.Lost{Body: e.ID, Batch: e.ID >> bodies.Bits, Record: e.Record})
			}
		}
		found = append(found, broken)
	}
	return found, next, len(frames) == 0, nil
}

// HealFrame makes a broken frame whole again: its row as its table proves it, and its
// content from versions that were read again, if they give what was there to the last
// byte. fault.ErrInvalid means that they do not. A frame that is whole stays as it is.
func (s *Archive) HealFrame(ctx context.Context, id int64, content map[int64]integrity.Content, by ingest.Act) (r integrity.Remedy, err error) {
	err = s.step(ctx, "heal frame", kernel.Bulk, func(t *tx) error {
		f, err := lockFrame(t, id)
		if err != nil {
			return err
		}
		r = integrity.Mended
		if _, err := f.Open(); err == nil {
			return nil // it was healed, and the answer was lost
		}
		g, err := f.Mend()
		if err != nil {
			return fmt.Errorf("%w: %w", fault.ErrInvalid, err)
		}
		if _, err := g.Open(); err != nil {
			r = integrity.Healed
			if err := g.Refill(content); err != nil {
				return err
			}
		}
		if by.Rehearsal {
			return nil
		}
		if err := t.ExecOne("UPDATE ing_body_frame SET last_body_id = ?, version_count = ?, codec = ?, hash = ?, content = ? WHERE frame_id = ?",
			g.Last, g.Count, g.Codec, g.Hash, g.Content, id); err != nil {
			return err
		}
		return t.auditFrame(id, r, by, map[string]any{"versions": g.Count})
	})
	return r, err
}

// AskFrameAgain gives up a broken frame. Records whose current version is in it forget
// the hash of their content, so that whatever their source says next is stored; the frame
// stays until none is left, and is removed then. It returns how many there are, and of
// which sources.
func (s *Archive) AskFrameAgain(ctx context.Context, id int64, by ingest.Act) (current int, sources []string, r integrity.Remedy, err error) {
	heads, sources, err := s.headsIn(ctx, id)
	if err != nil {
		return 0, nil, integrity.Left, kernel.Wrap("ask frame again", s.db.Translate(err))
	}
	r = integrity.AskAgain
	if len(heads) == 0 { // records only ever move on to newer versions
		r = integrity.GivenUp
	}
	err = s.step(ctx, "ask frame again", kernel.Bulk, func(t *tx) error {
		f, err := lockFrame(t, id)
		if errors.Is(err, fault.ErrNotFound) {
			return nil // it was removed, and the answer was lost
		}
		if err != nil {
			return err
		}
		if _, err := f.Open(); err == nil {
			return fmt.Errorf("%w: frame %d is whole", fault.ErrConflict, id)
		}
		if by.Rehearsal {
			return nil
		}
		if r == integrity.GivenUp {
			if err := t.notePruned(); err != nil { // batches have fewer versions than they stored
				return err
			}
			if err := t.ExecOne("DELETE FROM ing_body_frame WHERE frame_id = ?", id); err != nil {
				return err
			}
			return t.auditFrame(id, r, by, map[string]any{})
		}
		changed := int64(0)
		for _, h := range heads {
			n, err := t.Affected("UPDATE ing_record SET content_hash = ? WHERE dataset_id = ? AND id_hash = ? AND body_id = ? AND content_hash <> ?", noHash, h.dataset, h.key, h.body, noHash)
			if err != nil {
				return err
			}
			changed += n
		}
		if changed == 0 {
			return nil // it was done before
		}
		return t.auditFrame(id, r, by, map[string]any{"records": changed, "sources": sources})
	})
	return len(heads), sources, r, err
}

// noHash is the content hash of a record that takes any content for new.
var noHash = make([]byte, len(record.Digest{}))

// headsIn finds the records whose current version is in a frame. There is no index for
// it: all records are looked at, outside of any transaction.
func (s *Archive) headsIn(ctx context.Context, frame int64) (heads []checkedHead, sources []string, err error) {
	_, next, err := bodies.FramesAround(s.db.Ask(ctx), frame)
	if err != nil {
		return nil, nil, err
	}
	rows, err := s.db.Query(ctx, `SELECT r.dataset_id, r.id_hash, r.body_id, d.provenance_code FROM ing_record r JOIN ing_dataset d ON d.id = r.dataset_id
  WHERE r.body_id >= ? AND r.body_id < ? AND NOT EXISTS (SELECT 1 FROM ing_record_body b WHERE b.body_id = r.body_id)`, frame, next)
	if err != nil {
		return nil, nil, err
	}
	err = kernel.Each(rows, func() error {
		var h checkedHead
		var source string
		err := rows.Scan(&h.dataset, &h.key, &h.body, &source)
		if heads = append(heads, h); !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
		return err
	})
	slices.Sort(sources)
	return heads, sources, err
}

func (t *tx) auditFrame(id int64, r integrity.Remedy, by ingest.Act, detail map[string]any) error {
	detail["remedy"] = r
	return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: HealAction, Object: fmt.Sprintf("frame/%d", id), Reason: by.Reason, Detail: detail})
}

// lockFrame reads a frame that a step is about to change.
func lockFrame(t *tx, id int64) (bodies.Frame, error) {
	f, there, err := bodies.LockFrame(t.Query, id, t.Dialect().ForUpdate)
	if err == nil && !there {
		err = fmt.Errorf("%w: there is no frame %d", fault.ErrNotFound, id)
	}
	return f, err
}

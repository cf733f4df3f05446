package look

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// leanAnswer is an answer that is stored without its items.
type leanAnswer struct {
	batch        int64
	bytes, items int
	rest         []byte
}

// LeanAnswer puts an answer together that was stored without its items, and checks it
// against its hash. fault.ErrNotFound means that it was not stored so, or was removed;
// view.ErrItemsRemoved beside it, that one of its items was.
func (s *Look) LeanAnswer(ctx context.Context, hash string) (body []byte, err error) {
	err = s.tryAnswers(ctx, hash, func(a leanAnswer) error {
		joined, err := s.joinAnswer(ctx, a)
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(joined); hex.EncodeToString(sum[:]) != hash {
			return fmt.Errorf("%w: it has another hash", fault.ErrDamaged)
		}
		body = joined
		return nil
	})
	return body, err
}

// LeanAnswerBytes returns how many bytes of an answer are stored beside its items, if these are
// there. It looks at what is known of them and unpacks nothing.
func (s *Look) LeanAnswerBytes(ctx context.Context, hash string) (n int64, err error) {
	err = s.tryAnswers(ctx, hash, func(a leanAnswer) error {
		n = int64(len(a.rest))
		return s.eachItem(ctx, a, bodies.KeyPart, func(*bodies.Stored) error { return nil })
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// tryAnswers tries the answers with a hash until one is whole. If none is, it says what is wrong with the last one.
func (s *Look) tryAnswers(ctx context.Context, hash string, try func(leanAnswer) error) error {
	answers, err := s.leanAnswers(ctx, hash)
	if err != nil {
		return err
	}
	failed := fmt.Errorf("answer %s: %w in the database", hash, fault.ErrNotFound)
	for _, a := range answers {
		err := try(a)
		if err == nil {
			return nil
		}
		if failed = fmt.Errorf("answer %s of batch %d: %w", hash, a.batch, err); !errors.Is(err, fault.ErrNotFound) && !errors.Is(err, fault.ErrDamaged) {
			return failed
		}
	}
	return failed
}

// leanAnswers reads the answers with a hash, newest first: the same one may have come twice,
// for different sources.
func (s *Look) leanAnswers(ctx context.Context, hash string) (out []leanAnswer, err error) {
	sum, err := hex.DecodeString(hash)
	if err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("answer: %w: %q is no hash", fault.ErrInvalid, hash)
	}
	rows, err := s.db.Query(ctx, "SELECT batch_id, byte_count, item_count, rest FROM ing_lean_answer WHERE answer_hash = ? ORDER BY batch_id DESC", sum)
	if err == nil {
		err = kernel.Each(rows, func() error {
			var a leanAnswer
			err := rows.Scan(&a.batch, &a.bytes, &a.items, &a.rest)
			out = append(out, a)
			return err
		})
	}
	if err != nil {
		return nil, kernel.Wrap("read an answer", s.db.Translate(err))
	}
	return out, nil
}

// joinedAtOnce bounds what one query reads of the versions of an answer.
const joinedAtOnce = 8 << 20

// joinAnswer puts an answer together from the versions that its batch stored.
func (s *Look) joinAnswer(ctx context.Context, a leanAnswer) ([]byte, error) {
	joining := bodies.JoinAnswer(a.rest, a.bytes)
	err := s.eachItem(ctx, a, bodies.WholePart, func(b *bodies.Stored) error {
		item, _, err := b.Open()
		if err != nil {
			return err
		}
		return joining.Add(item)
	})
	if err != nil {
		return nil, err
	}
	return joining.Close()
}

// eachItem reads the versions that are the items of an answer, in their order. All must be there.
func (s *Look) eachItem(ctx context.Context, a leanAnswer, part bodies.Part, use func(*bodies.Stored) error) error {
	if a.items < 1 || a.items > bodies.MaxRecords || a.bytes < 0 || a.bytes > bodies.AnswerMost {
		return fmt.Errorf("%w: it says that it has %d items and %d bytes", fault.ErrDamaged, a.items, a.bytes)
	}
	first := bodies.ID(a.batch, 0)
	want := bodies.Range{After: first - 1, Upto: first + int64(a.items) - 1, Most: a.items, Bytes: joinedAtOnce, Part: part}
	for end := false; !end; {
		var page []bodies.Stored
		var err error
		last := want.After
		if page, want.After, end, err = bodies.ReadRange(s.db.Ask(ctx), want); err != nil {
			return err
		}
		for i := range page {
			if page[i].ID != last+1 {
				break
			}
			if err := use(&page[i]); err != nil {
				return err
			}
			last = page[i].ID
		}
		if last != want.After {
			return fmt.Errorf("%w: %w (version %d)", fault.ErrNotFound, view.ErrItemsRemoved, last+1)
		}
	}
	return nil
}

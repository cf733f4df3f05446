package look

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// leanAnswer is an answer that is stored without its items.
type leanAnswer struct {
	batch        int64
	bytes, items int
	rest         []byte
}

// answerMost is the largest answer that is put together; whole ones have the same limit.
const answerMost = 1 << 30

// LeanAnswer puts an answer together that was stored without its items, and checks it
// against its hash. fault.ErrNotFound means that it was not stored so, that it was removed,
// or that one of its items was.
func (s *Look) LeanAnswer(ctx context.Context, hash string) ([]byte, error) {
	answers, err := s.leanAnswers(ctx, hash)
	if err != nil {
		return nil, err
	}
	failed := fmt.Errorf("answer %s: %w in the database", hash, fault.ErrNotFound)
	for _, a := range answers {
		body, err := s.joinAnswer(ctx, a)
		if err == nil {
			if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) == hash {
				return body, nil
			}
			err = fmt.Errorf("%w: it has another hash", fault.ErrDamaged)
		}
		if err = fmt.Errorf("answer %s of batch %d: %w", hash, a.batch, err); !errors.Is(err, fault.ErrNotFound) && !errors.Is(err, fault.ErrDamaged) {
			return nil, err
		}
		failed = err
	}
	return nil, failed
}

// LeanAnswerBytes returns how many bytes of an answer are stored beside its items.
func (s *Look) LeanAnswerBytes(ctx context.Context, hash string) (int64, error) {
	answers, err := s.leanAnswers(ctx, hash)
	if err == nil && len(answers) == 0 {
		err = fmt.Errorf("answer %s: %w in the database", hash, fault.ErrNotFound)
	}
	if err != nil {
		return 0, err
	}
	return int64(len(answers[0].rest)), nil
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
	if a.items < 1 || a.items > bodies.MaxRecords || a.bytes < 0 || a.bytes > answerMost {
		return nil, fmt.Errorf("%w: it says that it has %d items and %d bytes", fault.ErrDamaged, a.items, a.bytes)
	}
	joining, first := bodies.JoinAnswer(a.rest, a.bytes), bodies.ID(a.batch, 0)
	want := bodies.Range{After: first - 1, Upto: first + int64(a.items) - 1, Most: a.items, Bytes: joinedAtOnce, Part: bodies.WholePart}
	for end := false; !end; {
		var page []bodies.Stored
		var err error
		after := want.After
		if page, want.After, end, err = bodies.ReadRange(s.db.Ask(ctx), want); err != nil {
			return nil, err
		}
		for i := range page {
			if page[i].ID != after+1 {
				break
			}
			item, _, err := page[i].Open()
			if err == nil {
				err = joining.Add(item)
			}
			if err != nil {
				return nil, err
			}
			after = page[i].ID
		}
		if after != want.After {
			return nil, fmt.Errorf("%w: version %d, which has an item of it, was removed", fault.ErrNotFound, after+1)
		}
	}
	return joining.Close()
}

package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// checkUnsealed holds a body that was stored before there were checksums against the
// content hash of its record: that is what is known of what it was. It can be told of
// the current version of a record whose items are JSON, while its plan is in the
// database; of others nothing is known, and they pass. Maintenance gives all of them
// their checksums (SealBodies), so this is for a time.
func (s *Store) checkUnsealed(ctx context.Context, body int64) error {
	b, err := scanBody(s.queryRow(ctx, "SELECT "+bodyColumns+" FROM ing_record_body WHERE body_id = ?", body))
	if there, err := found(err); err != nil || !there {
		return s.translate(err)
	}
	item, seal, err := b.open()
	if err != nil || seal.sealed {
		return err
	}
	return s.checkContent(ctx, &b, item)
}

// unsealedBodies are those that a query met. They are checked when it has ended: who
// asks while it holds a connection waits for a second one, and where all who do so
// wait, none ever gets it.
type unsealedBodies []struct {
	record string
	body   int64
}

func (u *unsealedBodies) add(record string, body int64) {
	*u = append(*u, struct {
		record string
		body   int64
	}{record, body})
}

func (u unsealedBodies) check(ctx context.Context, s *Store) error {
	for _, one := range u {
		if err := s.checkUnsealed(ctx, one.body); err != nil {
			return fmt.Errorf("record %q: %w", one.record, err)
		}
	}
	return nil
}

// checkContent compares the item of a body with the content hash of its head.
func (s *Store) checkContent(ctx context.Context, b *storedBody, item []byte) error {
	var want []byte
	var current, mapping int64
	var state record.State
	there, err := found(s.queryRow(ctx, "SELECT content_hash, body_id, mapping_id, state_code FROM ing_record WHERE dataset_id = ? AND id_hash = ?", b.dataset, b.record[:]).
		Scan(&want, &current, &mapping, &state))
	if err != nil || !there || current != b.id || state != record.Active || len(item) == 0 {
		return s.translate(err)
	}
	of, known, err := s.contentOf(ctx, b.id>>bodyBits)
	if err != nil || !known {
		return err
	}
	if got, err := of.hash(item); err == nil && string(got[:]) == string(want) {
		return nil
	}
	if of.fills && b.version > 1 {
		return nil // the hash is that of an earlier item, which was taken whole
	}
	if of.mapping != mapping { // the record was mapped anew since, and the item found to be the same
		if of, known, err = s.contentOfMapping(ctx, mapping); err != nil || !known {
			return err
		}
		if got, err := of.hash(item); err == nil && string(got[:]) == string(want) {
			return nil
		}
	}
	return b.damaged("the item does not fit the content hash of its record")
}

// contentRule is how the content hash of a plan's items is made.
type contentRule struct {
	hasher  *extract.Hasher // nil: an item alone does not tell
	mapping int64
	fills   bool
}

func (c contentRule) hash(item []byte) ([32]byte, error) { return c.hasher.Hash(item) }

// contentOf finds the rule of a batch.
func (s *Store) contentOf(ctx context.Context, batch int64) (contentRule, bool, error) {
	return s.ruleOf(ctx, `SELECT p.spec_fingerprint, p.mapping_id FROM ing_task_run_batch b JOIN ing_plan p ON p.id = b.plan_id WHERE b.id = ?`, batch)
}

// contentOfMapping finds the rule of any plan with a mapping.
func (s *Store) contentOfMapping(ctx context.Context, mapping int64) (contentRule, bool, error) {
	return s.ruleOf(ctx, `SELECT spec_fingerprint, mapping_id FROM ing_plan WHERE mapping_id = ? ORDER BY id DESC LIMIT 1`, mapping)
}

func (s *Store) ruleOf(ctx context.Context, query string, of int64) (contentRule, bool, error) {
	var fingerprint string
	var mapping sql.NullInt64
	there, err := found(s.queryRow(ctx, query, of).Scan(&fingerprint, &mapping))
	if err != nil || !there {
		return contentRule{}, false, s.translate(err)
	}
	rule, err := s.contentRule(ctx, fingerprint)
	rule.mapping = mapping.Int64
	return rule, rule.hasher != nil, err
}

// contentRule compiles the rule of a snapshot, once.
func (s *Store) contentRule(ctx context.Context, fingerprint string) (rule contentRule, err error) {
	if kept, ok := s.contentRules.Load(fingerprint); ok {
		return kept.(contentRule), nil
	}
	var text []byte
	there, err := found(s.queryRow(ctx, "SELECT snapshot FROM ing_spec_snapshot WHERE spec_fingerprint = ?", fingerprint).Scan(&text))
	if err != nil || !there {
		return rule, s.translate(err)
	}
	if snapshot, err := spec.Load(text); err == nil { // one that cannot be read tells nothing; db check reports it
		reading := snapshot.Reading()
		rule.fills = reading.FillOnly
		rule.hasher, _ = extract.NewHasher(reading)
	}
	s.contentRules.Store(fingerprint, rule)
	return rule, nil
}

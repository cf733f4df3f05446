package bodies

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// CheckUnsealed holds a body that was stored before there were checksums against the
// content hash of its record: that is what is known of what it was. It can be told of
// the current version of a record whose items are JSON, while its plan is in the
// database; of others nothing is known, and they pass. Maintenance gives all of them
// their checksums (SealBodies), so this is for a time.
func (s *Bodies) CheckUnsealed(ctx context.Context, body int64) error {
	b, err := Scan(s.db.QueryRow(ctx, "SELECT "+Columns+" FROM ing_record_body WHERE body_id = ?", body))
	if there, err := kernel.Found(err); err != nil || !there {
		return s.db.Translate(err)
	}
	item, seal, err := b.Open()
	if err != nil || seal.Sealed {
		return err
	}
	return s.CheckContent(ctx, &b, item)
}

// Unsealed collects the bodies without checksums that a query found. Check them after
// the query has ended: checking needs a second connection, and if every connection of
// the pool were held by a query waiting for one, none would ever get it.
type Unsealed []struct {
	record string
	body   int64
}

// Add notes a body that has to be looked at once more.
func (u *Unsealed) Add(record string, body int64) {
	*u = append(*u, struct {
		record string
		body   int64
	}{record, body})
}

// Check looks at all that were noted.
func (u Unsealed) Check(ctx context.Context, s *Bodies) error {
	for _, one := range u {
		if err := s.CheckUnsealed(ctx, one.body); err != nil {
			return fmt.Errorf("record %q: %w", one.record, err)
		}
	}
	return nil
}

// CheckContent compares the item of a body with the content hash of its head.
func (s *Bodies) CheckContent(ctx context.Context, b *Stored, item []byte) error {
	var want []byte
	var current, mapping int64
	var state record.State
	there, err := kernel.Found(s.db.QueryRow(ctx, "SELECT content_hash, body_id, mapping_id, state_code FROM ing_record WHERE dataset_id = ? AND id_hash = ?", b.Dataset, b.Record[:]).
		Scan(&want, &current, &mapping, &state))
	if err != nil || !there || current != b.ID || state != record.Active || len(item) == 0 {
		return s.db.Translate(err)
	}
	of, known, err := s.contentOf(ctx, b.ID>>Bits)
	if err != nil || !known {
		return err
	}
	if got, err := of.hashItem(item); err == nil && got == record.StoredDigest(want) {
		return nil
	}
	if of.fills && b.Version > 1 {
		return nil // the hash is that of an earlier item, which was taken whole
	}
	if of.mapping != mapping { // the record was mapped anew since, and the item found to be the same
		if of, known, err = s.contentOfMapping(ctx, mapping); err != nil || !known {
			return err
		}
		if got, err := of.hashItem(item); err == nil && got == record.StoredDigest(want) {
			return nil
		}
	}
	return b.Damaged("the item does not fit the content hash of its record")
}

// contentRule is how the content hash of a plan's items is made.
type contentRule struct {
	hasher  *extract.Hasher // nil: an item alone does not tell
	mapping int64
	fills   bool
}

func (c contentRule) hashItem(item []byte) (record.Digest, error) { return c.hasher.Hash(item) }

// contentOf finds the rule of a batch.
func (s *Bodies) contentOf(ctx context.Context, batch int64) (contentRule, bool, error) {
	return s.ruleOf(ctx, `SELECT p.spec_fingerprint, p.mapping_id FROM ing_task_run_batch b JOIN ing_plan p ON p.id = b.plan_id WHERE b.id = ?`, batch)
}

// contentOfMapping finds the rule of any plan with a mapping.
func (s *Bodies) contentOfMapping(ctx context.Context, mapping int64) (contentRule, bool, error) {
	return s.ruleOf(ctx, `SELECT spec_fingerprint, mapping_id FROM ing_plan WHERE mapping_id = ? ORDER BY id DESC LIMIT 1`, mapping)
}

func (s *Bodies) ruleOf(ctx context.Context, query string, of int64) (contentRule, bool, error) {
	var fingerprint string
	var mapping sql.NullInt64
	there, err := kernel.Found(s.db.QueryRow(ctx, query, of).Scan(&fingerprint, &mapping))
	if err != nil || !there {
		return contentRule{}, false, s.db.Translate(err)
	}
	rule, err := s.contentRule(ctx, fingerprint)
	rule.mapping = mapping.Int64
	return rule, rule.hasher != nil, err
}

// contentRule compiles the rule of a snapshot, once.
func (s *Bodies) contentRule(ctx context.Context, fingerprint string) (rule contentRule, err error) {
	if kept, ok := s.contentRules.Load(fingerprint); ok {
		return kept.(contentRule), nil
	}
	var text []byte
	there, err := kernel.Found(s.db.QueryRow(ctx, "SELECT snapshot FROM ing_spec_snapshot WHERE spec_fingerprint = ?", fingerprint).Scan(&text))
	if err != nil || !there {
		return rule, s.db.Translate(err)
	}
	if snapshot, err := spec.Load(text); err == nil { // one that cannot be read tells nothing; db check reports it
		reading := snapshot.Reading()
		rule.fills = reading.FillOnly
		rule.hasher, _ = extract.NewHasher(reading)
	}
	s.contentRules.Store(fingerprint, rule)
	return rule, nil
}

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/driver/blob"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/upsim"
)

// Answers are kept without their items, in one transaction with these. Whenever the process is killed around it, and
// whatever is folded and joined later, every batch that is stored has the answer that it refers to, to the last byte.
func TestKilledWhileAnswersAreKept(t *testing.T) {
	points := []crash.Point{crash.BodyRead, crash.BodyKept, crash.BatchRow, crash.Records, crash.Frames, crash.Outbox, crash.Committed, crash.Finishing}
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 62, PerDay: 40, Flat: true, PayloadBytes: 6000}, upsim.Options{})
		raw := filepath.Join(t.TempDir(), "raw")
		w.settings = append(w.settings, "slicing.step=P1D", "paging.size=20")
		s := &subject{world: w, source: "crossref", lag: 30 * time.Minute}
		for i, point := range points {
			if !s.killed(point, 1+i%2, s.args("--raw-dir", raw, "--lease", "2s")...) {
				t.Errorf("the harvest did not die at %s", point)
			}
			s.forgetLease()
		}
		s.must(s.args("--raw-dir", raw, "--lease", "2s")...)
		s.must("db", "compact")
		s.must("db", "check")
		lean, whole := s.readAnswers(raw)
		if lean < 10 {
			t.Errorf("%d answers without their items, and %d whole ones: too little was tried", lean, whole)
		}
		s.whole()
	})
}

// readAnswers reads the answers of all batches that are stored, and counts them by how they are kept.
func (s *subject) readAnswers(raw string) (lean, whole int) {
	s.t.Helper()
	db := localstore.Beside(s.t, s.database)
	files, err := blob.Open(raw, blob.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer files.Close()
	for _, b := range s.batches() {
		one, err := db.Batch(s.t.Context(), b.ID)
		if err != nil {
			s.t.Fatal(err)
		}
		if one.Raw == "" {
			continue
		}
		body, err := db.LeanAnswer(s.t.Context(), one.Raw)
		if errors.Is(err, fault.ErrNotFound) {
			whole++
			body, err = files.Get(s.t.Context(), one.Raw)
		} else {
			lean++
		}
		if sum := sha256.Sum256(body); err != nil || hex.EncodeToString(sum[:]) != one.Raw {
			s.t.Errorf("the answer of batch %d, which is %s: %d bytes, %v", b.ID, b.Status, len(body), err)
		}
	}
	return lean, whole
}

package storetest

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/trust"
)

func (w *world) use(ref, host string) (u trust.Use) {
	w.Helper()
	w.must(u.Ref.UnmarshalText([]byte(ref)))
	u.Host = host
	return u
}

func (w *world) consentsAre(want ...trust.Use) {
	w.Helper()
	got, err := w.store.Consents(w.ctx)
	w.must(err)
	if len(got) != len(want) {
		w.Fatalf("%d consents, want %d: %v", len(got), len(want), got)
	}
	for i, c := range got {
		if c.Use != want[i] || c.Actor != tester.Actor || c.Reason != tester.Reason || c.At.IsZero() {
			w.Errorf("consent %+v, want %v", c, want[i])
		}
	}
}

func (s suite) consents(t *testing.T) {
	s.test(t, "consent is per reference and host, is given once, and can be taken back", func(w *world) {
		key, upper, elsewhere := w.use("env:KEY", "api.example.org"), w.use("env:Key", "api.example.org"), w.use("env:KEY", "other.example.org:80")
		w.consentsAre()
		w.must(w.store.AgreeTo(w.ctx, []trust.Use{key, elsewhere}, tester))
		w.must(w.store.AgreeTo(w.ctx, []trust.Use{key, upper}, tester))
		w.consentsAre(key, upper, elsewhere)
		w.must(w.store.Withdraw(w.ctx, []trust.Use{key}, tester))
		w.consentsAre(upper, elsewhere)
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log WHERE actor = 'tester' AND reason = 'because'"); n != 4 {
			w.Errorf("%d entries in the log, want one for each change", n)
		}
	})
	s.test(t, "a rehearsal and a note change no consent", func(w *world) {
		key := w.use("exec:pass show key", "api.example.org")
		rehearsal := tester
		rehearsal.Rehearsal = true
		before := w.tables()
		w.must(w.store.AgreeTo(w.ctx, []trust.Use{key}, rehearsal))
		w.sameTables("rehearsed", before, w.tables())
		w.must(w.store.NoteTrust(w.ctx, trust.Agreed, []trust.Use{key}, tester))
		w.consentsAre()
		if got := w.text("SELECT CONCAT(action, ' ', object) FROM ing_audit_log WHERE id = 1"); got != "trust.agree trust/api.example.org" {
			w.Error(got)
		}
	})
	s.test(t, "the newest settings of a partition are found", func(w *world) {
		if _, known, err := w.store.LastSpec(w.ctx, harvest{}.partition()); known || err != nil {
			w.Errorf("known %v, %v", known, err)
		}
		w.plan(harvest{})
		last, known, err := w.store.LastSpec(w.ctx, harvest{}.partition())
		if !known || err != nil || last.PlanID == 0 || len(last.Snapshot) == 0 || last.CreatedAt.IsZero() {
			w.Errorf("%+v, known %v, %v", last, known, err)
		}
	})
}

func lossyTrust() []lossy {
	scope := ingest.Scope{Source: "source"}
	return []lossy{
		{"agree", "agree", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				return nil, w.store.AgreeTo(w.ctx, []trust.Use{w.use("env:KEY", "api.example.org")}, tester)
			}
		}},
		{"withdraw", "withdraw", func(w *world) func() (answer, error) {
			key := w.use("env:KEY", "api.example.org")
			w.must(w.store.AgreeTo(w.ctx, []trust.Use{key}, tester))
			return func() (answer, error) { return nil, w.store.Withdraw(w.ctx, []trust.Use{key}, tester) }
		}},
		{"note consent", "note consent", func(w *world) func() (answer, error) {
			key, other := w.use("env:KEY", "api.example.org"), w.use("env:OTHER", "api.example.org")
			w.must(w.store.NoteTrust(w.ctx, trust.Agreed, []trust.Use{key, other}, tester))
			return func() (answer, error) {
				return nil, w.store.NoteTrust(w.ctx, trust.Withdrawn, []trust.Use{key}, tester)
			}
		}},
		{"note change", "first secret", func(w *world) func() (answer, error) {
			return func() (answer, error) { return nil, w.store.NoteChange(w.ctx, scope, ingest.ChangeSecret, "mark") }
		}},
		{"note change", "another secret", func(w *world) func() (answer, error) {
			w.must(w.store.NoteChange(w.ctx, scope, ingest.ChangeSecret, "mark"))
			return func() (answer, error) {
				return nil, w.store.NoteChange(w.ctx, scope, ingest.ChangeSecret, "other mark")
			}
		}},
	}
}

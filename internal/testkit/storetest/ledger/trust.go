package ledger

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (w *world) use(ref, host string) (u trust.Use) {
	w.Helper()
	w.Must(u.Ref.UnmarshalText([]byte(ref)))
	u.Host = host
	return u
}

func (w *world) consentsAre(want ...trust.Use) {
	w.Helper()
	got, err := w.Store.Consents(w.Ctx)
	w.Must(err)
	if len(got) != len(want) {
		w.Fatalf("%d consents, want %d: %v", len(got), len(want), got)
	}
	for i, c := range got {
		if c.Use != want[i] || c.Actor != fixture.Tester.Actor || c.Reason != fixture.Tester.Reason || c.At.IsZero() {
			w.Errorf("consent %+v, want %v", c, want[i])
		}
	}
}

func (s suite) consents(t *testing.T) {
	s.test(t, "consent is per reference and host, is given once, and can be taken back", func(w *world) {
		key, upper, elsewhere := w.use("env:KEY", "api.example.org"), w.use("env:Key", "api.example.org"), w.use("env:KEY", "other.example.org:80")
		w.consentsAre()
		w.Must(w.Store.AgreeTo(w.Ctx, []trust.Use{key, elsewhere}, fixture.Tester))
		w.Must(w.Store.AgreeTo(w.Ctx, []trust.Use{key, upper}, fixture.Tester))
		w.consentsAre(key, upper, elsewhere)
		w.Must(w.Store.Withdraw(w.Ctx, []trust.Use{key}, fixture.Tester))
		w.consentsAre(upper, elsewhere)
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE actor = 'tester' AND reason = 'because'"); n != 4 {
			w.Errorf("%d entries in the log, want one for each change", n)
		}
	})
	s.test(t, "a rehearsal and a note change no consent", func(w *world) {
		key := w.use("exec:pass show key", "api.example.org")
		rehearsal := fixture.Tester
		rehearsal.Rehearsal = true
		before := w.Tables()
		w.Must(w.Store.AgreeTo(w.Ctx, []trust.Use{key}, rehearsal))
		w.SameTables("rehearsed", before, w.Tables())
		w.Must(w.Store.NoteTrust(w.Ctx, trust.Agreed, []trust.Use{key}, fixture.Tester))
		w.consentsAre()
		if got := w.Text("SELECT CONCAT(action, ' ', object) FROM ing_audit_log WHERE id = 1"); got != "trust.agree trust/api.example.org" {
			w.Error(got)
		}
	})
	s.test(t, "the newest settings of a partition are found", func(w *world) {
		if _, known, err := w.Store.LastSpec(w.Ctx, fixture.Harvest{}.Partition()); known || err != nil {
			w.Errorf("known %v, %v", known, err)
		}
		w.Plan(fixture.Harvest{})
		last, known, err := w.Store.LastSpec(w.Ctx, fixture.Harvest{}.Partition())
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
				return nil, w.Store.AgreeTo(w.Ctx, []trust.Use{w.use("env:KEY", "api.example.org")}, fixture.Tester)
			}
		}},
		{"withdraw", "withdraw", func(w *world) func() (answer, error) {
			key := w.use("env:KEY", "api.example.org")
			w.Must(w.Store.AgreeTo(w.Ctx, []trust.Use{key}, fixture.Tester))
			return func() (answer, error) { return nil, w.Store.Withdraw(w.Ctx, []trust.Use{key}, fixture.Tester) }
		}},
		{"note consent", "note consent", func(w *world) func() (answer, error) {
			key, other := w.use("env:KEY", "api.example.org"), w.use("env:OTHER", "api.example.org")
			w.Must(w.Store.NoteTrust(w.Ctx, trust.Agreed, []trust.Use{key, other}, fixture.Tester))
			return func() (answer, error) {
				return nil, w.Store.NoteTrust(w.Ctx, trust.Withdrawn, []trust.Use{key}, fixture.Tester)
			}
		}},
		{"note change", "first secret", func(w *world) func() (answer, error) {
			return func() (answer, error) { return nil, w.Store.NoteChange(w.Ctx, scope, ingest.ChangeSecret, "mark") }
		}},
		{"note change", "another secret", func(w *world) func() (answer, error) {
			w.Must(w.Store.NoteChange(w.Ctx, scope, ingest.ChangeSecret, "mark"))
			return func() (answer, error) {
				return nil, w.Store.NoteChange(w.Ctx, scope, ingest.ChangeSecret, "other mark")
			}
		}},
	}
}

package look

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// auditLog: who can write to the database cannot change what was done unseen
// (A37).
func (s suite) auditLog(t *testing.T) {
	crossref := ingest.Scope{Source: "crossref"}
	acts := func(w *world, n int) (head audit.Entry) {
		for i := range n {
			by := ingest.Act{Actor: "jane", Reason: fmt.Sprintf("a reason with 'quotes', ünicode and \"%d\"", i)}
			if i%2 == 0 {
				_, _, err := w.Store.PauseSource(w.Ctx, crossref, by)
				w.Must(err)
			} else {
				_, _, err := w.Store.ResumeSource(w.Ctx, crossref, by)
				w.Must(err)
			}
		}
		newest, err := w.Store.AuditLog(w.Ctx, view.Filter{Limit: 1})
		w.Must(err)
		return newest[0]
	}
	verify := func(w *world, noted ...audit.Noted) (out []audit.Problem) {
		chain, after := audit.NewChain(noted...), int64(0)
		for {
			page, err := w.Store.AuditChain(w.Ctx, after, 2)
			w.Must(err)
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				chain.Add(e)
				after = e.ID
			}
		}
		for _, f := range chain.Report().Findings {
			out = append(out, f.Problem)
		}
		return out
	}
	s.test(t, "an untouched log verifies", func(w *world) {
		head := acts(w, 5)
		if got := verify(w, audit.Noted{Hash: head.Hash, Where: "here"}); len(got) > 0 {
			w.Errorf("%v", got)
		}
		again, err := w.Store.AuditEntry(w.Ctx, head.ID)
		w.Must(err)
		if again.Hash != head.Hash || again.Sum() != head.Hash || again.Actor != "jane" || again.At.Before(time.Now().Add(-24*time.Hour*365*100)) {
			w.Errorf("%+v", again)
		}
		if _, err := w.Store.AuditEntry(w.Ctx, head.ID+100); !errors.Is(err, fault.ErrNotFound) {
			w.Errorf("%v", err)
		}
	})
	for name, c := range map[string]struct {
		statement string
		want      []audit.Problem
	}{
		"the reason of an entry is changed": {"UPDATE ing_audit_log SET reason = 'other' WHERE id = ?", []audit.Problem{audit.Edited}},
		"its actor is changed":              {"UPDATE ing_audit_log SET actor = 'john' WHERE id = ?", []audit.Problem{audit.Edited}},
		"its reason is taken out":           {"UPDATE ing_audit_log SET reason = NULL WHERE id = ?", []audit.Problem{audit.Edited}},
		"its time is changed":               {"UPDATE ing_audit_log SET at = at + 1 WHERE id = ?", []audit.Problem{audit.Edited}},
		"its detail is changed":             {"UPDATE ing_audit_log SET detail = '{}' WHERE id = ?", []audit.Problem{audit.Edited}},
		"its hash is changed":               {"UPDATE ing_audit_log SET row_hash = '" + audit.Root() + "' WHERE id = ?", []audit.Problem{audit.Edited, audit.Missing}},
		"it is deleted":                     {"DELETE FROM ing_audit_log WHERE id = ?", []audit.Problem{audit.Missing}},
		"all before it are deleted":         {"DELETE FROM ing_audit_log WHERE id <= ?", []audit.Problem{audit.Missing}},
		"the end is cut off":                {"DELETE FROM ing_audit_log WHERE id > ?", []audit.Problem{audit.Lost}},
	} {
		s.test(t, name, func(w *world) {
			head := acts(w, 6)
			w.Exec(c.statement, head.ID-3)
			if got := verify(w, audit.Noted{Hash: head.Hash, Where: "the log"}); !slices.Equal(got, c.want) {
				w.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
	s.test(t, "trust 08: the number of the newest entry is changed", func(w *world) {
		head := acts(w, 6)
		w.Exec("UPDATE ing_audit_log SET id = id + 7 WHERE id = ?", head.ID)
		if got := verify(w); !slices.Equal(got, []audit.Problem{audit.Edited}) {
			w.Errorf("found %v", got)
		}
	})
}

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/check"
)

// applyAt applies the shelf under an address, with more settings of its source.
func (b *brokenShelf) applyAt(address, more string) {
	b.t.Helper()
	text := strings.Replace(fmt.Sprintf(shelfFile, address, "$.id"), "name: A shelf", "name: A shelf\n"+more, 1)
	file := filepath.Join(b.t.TempDir(), "shelf.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.must("source", "apply", file, "--reason", "test")
}

// one is the value of a query that has one.
func (w *world) one(query string) (out string) {
	w.t.Helper()
	db, err := check.Open(w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&out); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return out
}

const fewTries = "retry: {maxAttempts: 1}"

// A source applied with a wrong host fails. Whoever corrects the file and applies it
// gets the data with the next harvest: the plan that keeps the old host is cancelled,
// said so, and what it left is planned anew. Nobody has to cancel anything.
func TestTrust13ACorrectedFileReachesWhatIsPlanned(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		b := newShelfWorld(t, database)
		b.applyAt(closedPort, fewTries)
		code, _, errText := b.harvests("--from", "2025-03-01")
		if code != 7 || !strings.Contains(errText, "correct it and apply it") || strings.Contains(errText, "plan cancel") {
			t.Fatalf("exit %d\n%s", code, errText)
		}
		b.applyAt(shelf(t), fewTries)
		code, out, errText := b.harvests("-o", "json")
		if code != 0 || !strings.Contains(out, `"givenUpPlans": [`) || !strings.Contains(errText, "plan 1 is cancelled: the source was changed at ") {
			t.Errorf("exit %d\n%s%s", code, out, errText)
		}
		if n := b.one("SELECT COUNT(*) FROM ing_record"); n != "60" {
			t.Errorf("%s of 60 papers", n)
		}
		b.comes()
		if got := b.one("SELECT CONCAT(actor, ' ', object) FROM ing_audit_log WHERE action = 'plan.cancel'"); got != "executor plan/1" {
			t.Errorf("the audit log says %q", got)
		}
	})
}

// What reads on with the settings it was planned with is left alone: applying a file
// changes nothing that is planned (I10) and gets somewhere.
func TestTrust13WhatReadsOnKeepsItsPlan(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		b := newShelfWorld(t, database)
		address := shelf(t)
		b.applyAt(address, fewTries)
		b.must("plan", "shelf", "--from", "2025-03-01", "--now", "2025-03-06T12:00:00Z") // nobody tried it yet
		b.applyAt(address, "retry: {maxAttempts: 2}")
		code, out, errText := b.harvests("-o", "json")
		if code != 0 || strings.Contains(out, "givenUpPlans") || !strings.Contains(errText, "continuing plan 1") {
			t.Errorf("exit %d\n%s%s", code, out, errText)
		}
		b.comes()
	})
}

// A campaign whose source was corrected goes on by itself too.
func TestTrust13ACorrectedFileReachesACampaign(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		b := newShelfWorld(t, database)
		b.applyAt(closedPort, fewTries)
		backfill := []string{"backfill", "shelf", "--from", "2025-03-01", "--to", "2025-03-06", "--now", "2025-03-06T12:00:00Z"}
		if code, out, errText := b.patra(backfill...); code != 7 {
			t.Fatalf("exit %d\n%s%s", code, out, errText)
		}
		b.applyAt(shelf(t), fewTries)
		if code, out, errText := b.patra(backfill...); code != 0 || !strings.Contains(errText, "plan 1 is cancelled") {
			t.Errorf("exit %d\n%s%s", code, out, errText)
		}
		if n := b.one("SELECT COUNT(*) FROM ing_record"); n != "60" {
			t.Errorf("%s of 60 papers", n)
		}
	})
}

package blackbox

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
)

func in(id, fields string, hash byte) record.Incoming {
	return record.Incoming{ProviderID: id, UpdatedAt: noon, FetchAt: noon.Add(time.Hour), ContentHash: record.Digest{hash}, Fields: []byte(fields)}
}

func TestChangedFields(t *testing.T) {
	for name, c := range map[string]struct{ was, is, want string }{
		"same":           {`{"a":1}`, `{"a":1}`, "[]"},
		"spaces":         {`{"a": [1, 2]}`, `{"a":[1,2]}`, "[]"},
		"escaped":        {`{"a":"\u003ci\u003e\/\u00e9"}`, `{"a":"<i>/é"}`, "[]"},
		"large numbers":  {`{"a":9007199254740993}`, `{"a":9007199254740992}`, `[a: 9007199254740993 → 9007199254740992]`},
		"another value":  {`{"a":1,"b":2}`, `{"a":1,"b":3}`, `[b: 2 → 3]`},
		"new and gone":   {`{"a":1}`, `{"b":2}`, `[a: 1 →  b:  → 2]`},
		"nothing stored": {``, `{"b":2}`, `[b:  → 2]`},
		"no object":      {`[1]`, `{"b":2}`, `[(fields): [1] → {"b":2}]`},
	} {
		out := []string{}
		for _, f := range changedFields([]byte(c.was), []byte(c.is)) {
			out = append(out, fmt.Sprintf("%s: %s → %s", f.Name, f.Was, f.Is))
		}
		if got := fmt.Sprint(out); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A reading does not differ from itself, and what differs one way differs the other.
func TestComparisonIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) *Reading {
			r := &Reading{Status: 200, Named: rapid.Bool().Draw(t, label)}
			for _, id := range []string{"a", "b", "c"} {
				if n := rapid.IntRange(0, 2).Draw(t, label); n > 0 {
					r.Records = append(r.Records, in(id, fmt.Sprintf(`{"t":%d}`, n), byte(n)))
				}
			}
			r.Seen = len(r.Records)
			return r
		}
		one, other := draw("one"), draw("other")
		compared := func(a, b *Reading) *Report {
			r := &Report{}
			r.Answered(a, b)
			return r.Close()
		}
		if r := compared(one, one); !r.Identical {
			t.Fatalf("%+v", r)
		}
		there, back := compared(one, other), compared(other, one)
		added, changed, missing := there.Count()
		a, c, m := back.Count()
		if added != m || missing != a || changed != c || there.Identical != back.Identical || there.Blames(Ours) {
			t.Fatalf("%+v\n%+v", there, back)
		}
	})
}

func TestVerdictsAreCompared(t *testing.T) {
	page, broken := &Reading{Status: 200}, &Reading{Status: 200, Err: fault.Newf(fault.BadBody, "no JSON")}
	r := &Report{}
	if r.Answered(page, broken); len(r.Differences) != 1 || r.Differences[0].What != onPage || r.Differences[0].Cause != Source {
		t.Errorf("%+v", r)
	}
	r = &Report{}
	if r.Answered(broken, broken); len(r.Differences) != 0 {
		t.Errorf("%+v", r)
	}
}

func batch(s ingest.BatchStats) *Box {
	return &Box{Batch: view.Batch{ID: 7, Status: "SUCCEEDED", Stats: s}}
}

// Every item of a batch is decided anew, against what the batch found.
func TestDecidedAnew(t *testing.T) {
	b := batch(ingest.BatchStats{Seen: 5, Inserted: 1, Updated: 1, Unchanged: 1, Stale: 1, Gone: 1})
	removed := in("removed", "", 9)
	removed.Gone = true
	read := &Reading{Seen: 5, Status: 200, Records: []record.Incoming{in("new", `{"t":1}`, 1), in("changed", `{"t":2}`, 2), in("same", `{"t":3}`, 3), in("old", `{"t":4}`, 4), removed}}
	b.Written = []Written{
		{ID: "new", Version: 1, Action: record.Insert, UpdatedAt: noon, Fields: []byte(`{"t":1}`)},
		{ID: "changed", Version: 4, Action: record.Update, UpdatedAt: noon, Fields: []byte(`{"t": 2}`)}, {ID: "removed", Version: 2, Action: record.Remove, UpdatedAt: noon},
	}
	same, newer := record.Digest{3}, record.Digest{5}
	heads := []Head{
		{ID: "same", BatchID: 3, Version: 1, UpdatedAt: noon, FetchAt: noon, ContentHash: same[:], State: record.Active},
		{ID: "old", BatchID: 3, Version: 1, UpdatedAt: noon.Add(time.Hour), FetchAt: noon, ContentHash: newer[:], State: record.Active},
	}
	check := func(what string, want int) {
		t.Helper()
		r := &Report{}
		r.Reproduces(b, Role{}, read, heads)
		if n := len(r.Differences) + len(r.Records); n != want {
			t.Errorf("%s: %d differences: %+v %+v", what, n, r.Differences, r.Records)
		}
		if want == 0 && fmt.Sprint(r.Decisions) != "map[INSERT:1 REMOVE:1 STALE:1 UNCHANGED:1 UPDATE:1]" {
			t.Errorf("%s: %v", what, r.Decisions)
		}
	}
	check("as it was", 0)
	heads[0].ContentHash = newer[:]
	check("a record that would be updated now", 2) // it, and the number of those left alone
	heads[0].BatchID = 8
	check("but it was changed since", 0)
	heads[0].ContentHash, heads[0].BatchID = same[:], 3
	b.Written[0].Fields = []byte(`{"t":7}`)
	check("a field that reads otherwise", 1)
	b.Written[0].Fields = []byte(`{"t":1}`)
	b.Written[0].UpdatedAt = noon.Add(time.Second)
	check("a date that reads otherwise", 1)
	b.Written[0].UpdatedAt = noon
	read.Records[1].UpdatedAt = time.Time{} // it took over the date of the version before
	check("a date that was inherited", 0)
	read.Records[1].UpdatedAt = noon
	b.Written = append(b.Written, Written{ID: "lost", Version: 1, Action: record.Insert})
	b.Batch.Stats.Inserted, b.Batch.Stats.Seen = 2, 6
	check("a record that does not come any more", 2) // it, and the number of items
}

func TestStandingKeepsWhatTheLedgerCannot(t *testing.T) {
	c := paging.Config{Type: paging.Token}.WithDefaults()
	if s := Standing(c, paging.State{Token: "abc", Pages: 2}); s.Token != "" || s.Pages != 2 {
		t.Errorf("%+v", s)
	}
	long := make([]byte, 5000)
	for i := range long {
		long[i] = 'x'
	}
	if s := Standing(c, paging.State{Token: string(long)}); s.Token == "" {
		t.Error("a token that the ledger cuts is nowhere whole")
	}
}

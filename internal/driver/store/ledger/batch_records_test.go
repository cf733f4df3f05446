package ledger

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
)

// No two ids with one key are known, so the suite cannot make them collide.
func TestACollidingIDIsQuarantinedNotMerged(t *testing.T) {
	in := record.Incoming{ProviderID: "mine", Payload: []byte(`{"id":"mine"}`), FetchAt: time.Unix(1, 0)}
	ready, err := prepareBatch(ingest.BatchCommit{Records: []record.Incoming{in}})
	if err != nil {
		t.Fatal(err)
	}
	heads := map[record.Key]*record.Head{record.KeyOf("mine"): {ProviderID: "theirs", Version: 3, State: record.Active}}
	var stats ingest.BatchStats
	changes, rejects := decideRecords(ready.records, heads, ingest.BatchCommit{}, &stats)
	if len(changes) != 0 || stats != (ingest.BatchStats{}) {
		t.Errorf("changes %v, stats %+v", changes, stats)
	}
	if len(rejects) != 1 || rejects[0].Reason != record.IDCollision || rejects[0].ProviderID != "mine" || string(rejects[0].raw) != `{"id":"mine"}` ||
		!strings.Contains(rejects[0].Detail, "theirs") {
		t.Errorf("rejects %+v", rejects)
	}
}

func TestEveryActionIsCounted(t *testing.T) {
	at := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	head := func(state record.State) *record.Head {
		return &record.Head{ProviderID: "id", UpdatedAt: at, FetchAt: at, Version: 4, BodyID: 9, State: state, ContentHash: record.Digest{1}}
	}
	for name, c := range map[string]struct {
		head    *record.Head
		in      record.Incoming
		want    ingest.BatchStats
		version int // of the change; 0: none
	}{
		"insert":      {nil, record.Incoming{}, ingest.BatchStats{Inserted: 1}, 1},
		"update":      {head(record.Active), record.Incoming{UpdatedAt: at.Add(1e9), ContentHash: record.Digest{2}}, ingest.BatchStats{Updated: 1}, 5},
		"removal":     {head(record.Active), record.Incoming{UpdatedAt: at.Add(1e9), Gone: true}, ingest.BatchStats{Gone: 1}, 5},
		"touch":       {head(record.Active), record.Incoming{UpdatedAt: at.Add(1e9), ContentHash: record.Digest{1}}, ingest.BatchStats{Unchanged: 1}, 4},
		"unchanged":   {head(record.Active), record.Incoming{UpdatedAt: at, ContentHash: record.Digest{1}}, ingest.BatchStats{Unchanged: 1}, 0},
		"stale":       {head(record.Active), record.Incoming{UpdatedAt: at.Add(-1e9), ContentHash: record.Digest{2}}, ingest.BatchStats{Stale: 1}, 0},
		"never there": {nil, record.Incoming{Gone: true}, ingest.BatchStats{Gone: 1}, 1},
		"missed":      {head(record.Active), record.Incoming{Missed: true, FetchAt: at.Add(1e9)}, ingest.BatchStats{}, 0},
	} {
		c.in.ProviderID = "id"
		item := preparedRecord{Incoming: c.in, key: record.KeyOf("id")}
		heads := map[record.Key]*record.Head{}
		if c.head != nil {
			heads[item.key] = c.head
		}
		var stats ingest.BatchStats
		changes, _ := decideRecords([]preparedRecord{item}, heads, ingest.BatchCommit{}, &stats)
		if stats != c.want {
			t.Errorf("%s: %+v, want %+v", name, stats, c.want)
		}
		version := 0
		if len(changes) == 1 {
			version = changes[0].version
		}
		if version != c.version {
			t.Errorf("%s: version %d, want %d", name, version, c.version)
		}
	}
}

func TestRecordsAreLockedInOneOrder(t *testing.T) {
	var forward, backward []record.Incoming
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		forward = append(forward, record.Incoming{ProviderID: id})
		backward = append([]record.Incoming{{ProviderID: id}}, backward...)
	}
	one, err := prepareBatch(ingest.BatchCommit{Records: forward})
	if err != nil {
		t.Fatal(err)
	}
	other, err := prepareBatch(ingest.BatchCommit{Records: backward})
	if err != nil {
		t.Fatal(err)
	}
	sameKey := func(a, b preparedRecord) bool { return a.key == b.key }
	if !slices.EqualFunc(one.records, other.records, sameKey) {
		t.Error("two workers with the same records would lock them in different orders")
	}
}

// Bodies get their ids in the order of the answer, whatever the order of their keys.
func TestChangesArePlacedInTheOrderOfTheAnswer(t *testing.T) {
	ids := []string{"d", "a", "e", "b", "c"}
	var records []record.Incoming
	for _, id := range ids {
		records = append(records, record.Incoming{ProviderID: id})
	}
	ready, err := prepareBatch(ingest.BatchCommit{Records: records})
	if err != nil {
		t.Fatal(err)
	}
	var changes []change
	for _, r := range ready.records {
		if r.ProviderID != "e" { // it did not change
			changes = append(changes, newChange(&r, nil, record.Insert))
		}
	}
	for i, c := range placeChanges(changes) {
		if want := []string{"d", "a", "b", "c"}[i]; c.ProviderID != want || c.at != i {
			t.Errorf("position %d is of %q, which says %d; want %q", i, c.ProviderID, c.at, want)
		}
	}
}

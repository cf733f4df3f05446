package ledger_test

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// What a try found must not outlive it: the head may be another the next time.
func TestARedoneFillStartsAnew(t *testing.T) {
	s := localstore.Migrated(t, sqlite.Config{})
	at := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	in := record.Incoming{ProviderID: "id", UpdatedAt: at.Add(time.Hour), ContentHash: record.Digest{2}, FillOnly: true}
	active := record.Head{ProviderID: "id", UpdatedAt: at, ContentHash: record.Digest{1}, State: record.Active}
	tombstone := active
	tombstone.State = record.Gone
	for body, want := range map[int64]string{1: "nothing", 2: "filled"} {
		in.Fields = map[int64][]byte{1: []byte(`{"title":"y"}`), 2: []byte(`{"abstract":"long"}`)}[body]
		active.BodyID = body
		tries, err := s.FillTwice(t.Context(), in, `{"title":"x"}`, active, tombstone)
		if err != nil || tries != [2]string{want, "whole"} {
			t.Errorf("%v, %v; want %s, then whole", tries, err, want)
		}
	}
}

package retention

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

func at(day int) time.Time { return time.Date(2025, 3, day, 0, 0, 0, 0, time.UTC) }

// ledger makes a random ledger whose events say what they did.
func ledger(t *rapid.T) (out []Entry) {
	r := Replay{Line: ingest.CursorTime}
	for id := range int64(rapid.IntRange(2, 40).Draw(t, "events")) {
		from := rapid.IntRange(1, 10).Draw(t, "from")
		w := window.Window{From: at(from), To: at(from + rapid.IntRange(1, 5).Draw(t, "days"))}
		kinds := []coverage.Kind{coverage.Planned, coverage.Planned, coverage.Succeeded, coverage.Succeeded, coverage.Failed, coverage.Waived, coverage.Manual}
		e := Entry{ID: id + 1, Prev: r.Line.Text(r.State.Cursor), Event: coverage.Event{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Windows: []window.Window{w}, AsOf: at(15 + rapid.IntRange(0, 10).Draw(t, "asOf")), At: at(28),
			Lookback: time.Duration(rapid.IntRange(0, 3).Draw(t, "lookback")) * 24 * time.Hour,
		}}
		if e.Kind == coverage.Manual {
			e.Value = w.From
		}
		after := r
		after.Add(e)
		e.New = r.Line.Text(after.State.Cursor)
		r.Add(e)
		out = append(out, e)
		if rapid.IntRange(0, 9).Draw(t, "stop") == 0 && len(out) > 3 {
			return out
		}
	}
	return out
}

func replayed(entries []Entry) Replay {
	r := Replay{Line: ingest.CursorTime}
	for _, e := range entries {
		r.Add(e)
	}
	return r
}

// Wherever a ledger is cut, and however often, the snapshot and the rest give what
// all of it gives.
func TestASnapshotStandsForWhatIsBeforeIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := ledger(t)
		want, rest := replayed(all), all
		for range rapid.IntRange(1, 4).Draw(t, "cuts") {
			cut := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			signed, err := Snapshot{Cursor: "x", To: rest[cut-1].ID, CursorState: replayed(rest[:cut]).CursorState, SHA256: "f"}.Sign()
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(signed)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := ReadSigned(text)
			if err != nil {
				t.Fatal(err)
			}
			value := ingest.CursorTime.Text(stored.State.Cursor)
			snapshot := Entry{ID: stored.To, Prev: value, New: value, Event: coverage.Event{Kind: coverage.Snapshot}, Signed: &stored}
			rest = append([]Entry{snapshot}, rest[cut:]...)
			got := replayed(rest)
			if len(got.Problems) > 0 {
				t.Fatalf("problems %v", got.Problems)
			}
			if a, b := encode(t, got.CursorState), encode(t, want.CursorState); a != b {
				t.Fatalf("the snapshot and the rest give\n%s, all events\n%s", a, b)
			}
		}
	})
}

func encode(t *rapid.T, l CursorState) string {
	if len(l.State.Segments) == 0 {
		l.State.Segments = nil
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Nothing of a snapshot can change without its signature noticing.
func TestASignatureCoversEverything(t *testing.T) {
	state := coverage.State{Origin: at(1), Cursor: at(5), Lookback: time.Hour, Segments: []coverage.Segment{{Window: window.Window{From: at(1), To: at(5)}, Want: at(9), Have: at(9)}}}
	signed, err := Snapshot{Cursor: "a b", To: 7, Events: 6, CursorState: CursorState{State: state, Left: []window.Window{{From: at(1), To: at(2)}}}, File: "f", SHA256: "hash", Previous: "before"}.Sign()
	if err != nil || signed.Check() != nil {
		t.Fatal(err, signed.Check())
	}
	for name, change := range map[string]func(*Signed){
		"cursor": func(s *Signed) { s.Cursor = "a c" }, "event": func(s *Signed) { s.To++ }, "events": func(s *Signed) { s.Events++ },
		"file": func(s *Signed) { s.File = "g" }, "hash": func(s *Signed) { s.SHA256 = "other" }, "chain": func(s *Signed) { s.Previous = "" },
		"origin": func(s *Signed) { s.State.Origin = at(2) }, "value": func(s *Signed) { s.State.Cursor = at(6) }, "lookback": func(s *Signed) { s.State.Lookback = 0 },
		"segment": func(s *Signed) { s.State.Segments = nil }, "left": func(s *Signed) { s.Left = nil }, "signature": func(s *Signed) { s.Signature = "x" },
	} {
		changed := signed
		change(&changed)
		if changed.Check() == nil {
			t.Errorf("a change of the %s goes unnoticed", name)
		}
	}
}

func TestReplayNotesContradictions(t *testing.T) {
	w := []window.Window{{From: at(1), To: at(3)}}
	planned := Entry{ID: 1, New: window.Text(at(1)), Event: coverage.Event{Kind: coverage.Planned, Windows: w, AsOf: at(9)}}
	read := Entry{ID: 2, Prev: window.Text(at(1)), New: window.Text(at(3)), Event: coverage.Event{Kind: coverage.Succeeded, Windows: w, AsOf: at(9)}}
	if r := replayed([]Entry{planned, read}); len(r.Problems) != 0 || !r.State.Cursor.Equal(at(3)) || r.Events != 2 {
		t.Errorf("%+v", r)
	}
	moved, past := read, read
	moved.New = window.Text(at(9))
	past.Prev = window.Text(at(2))
	for name, entries := range map[string][]Entry{
		"another result": {planned, moved}, "another past": {planned, past}, "a lost event": {read},
		"a snapshot without a state": {planned, {ID: 2, Event: coverage.Event{Kind: coverage.Snapshot}}},
	} {
		if r := replayed(entries); len(r.Problems) == 0 {
			t.Errorf("%s goes unnoticed", name)
		}
	}
}

func TestLinks(t *testing.T) {
	for _, text := range []string{"plan/1", "slice/2", "task/3", "run/4", "batch/5", "cursor/6"} {
		if l, err := ParseLink(text); err != nil || l.String() != text {
			t.Errorf("%s: %v, %v", text, l, err)
		}
	}
	for _, text := range []string{"", "batch", "batch/", "batch/0", "batch/-1", "batch/x", "record/1", "batch/1/2"} {
		if _, err := ParseLink(text); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFileNamesTellAttemptsApart(t *testing.T) {
	a := Archive{ID: 12, Kind: Events, CursorID: 3}
	if got := a.FileName("e7"); got != "000012-cursor-3-events-e7.jsonl.zst" {
		t.Error(got)
	}
	if got := (Archive{ID: 12, Kind: Plans}).FileName("e8"); !strings.HasPrefix(got, "000012-plans-e8") {
		t.Error(got)
	}
}

func TestReadBatchKeepsForeignBytes(t *testing.T) {
	b, err := ReadBatch([]Row{
		{Table: BatchTable, ID: 9, Lineage: ingest.Lineage{PlanID: 1, SliceID: 2, TaskID: 3, RunID: 4, BatchID: 9},
			Columns: []byte(`{"batch_no":2,"pass":1,"page_no":null,"before_token":{"base64":"/wA="},"after_token":"é","stats":"{\"seen\":3}","error":null,"committed_at":1000000}`)},
		{Table: EvidenceTable, Lineage: ingest.Lineage{BatchID: 9}, Columns: []byte(`{"request":"{}","response":null,"blob_ref":"ab"}`)},
	})
	if err != nil || b.BeforeToken != "\xff\x00" || b.AfterToken != "é" || b.Stats.Seen != 3 || b.Raw != "ab" || string(b.Request) != "{}" || b.Response != nil ||
		!b.CommittedAt.Equal(time.Unix(1, 0)) || b.PlanID != 1 || b.ID != 9 {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := ReadBatch([]Row{{Table: BatchTable, Columns: []byte(`{"batch_no":"x"}`)}}); err == nil {
		t.Error("nonsense was read")
	}
}

func TestPolicy(t *testing.T) {
	if p := (Policy{}).WithDefaults(); p.Archives() || p.Prunes() || p.Validate() != nil {
		t.Errorf("nothing said keeps all: %+v", p)
	}
	want := Policy{Archive: Least, MinEvents: 2, MinVersions: 1}
	if p := (Policy{Archive: Least}).WithDefaults(); !reflect.DeepEqual(p, want) || p.Validate() != nil || !p.Archives() {
		t.Errorf("%+v", p)
	}
	for _, p := range []Policy{{Archive: time.Hour}, {Archive: -Least}, {Versions: -1}, {Outbox: -1}, {MinVersions: -1}, {MinVersions: 101}} {
		if err := p.WithDefaults().Validate(); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

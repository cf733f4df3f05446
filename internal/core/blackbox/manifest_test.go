package blackbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
)

var noon = time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC)

func aBox() Box {
	b := Box{
		Batch: view.Batch{ID: 7, RunID: 3, Source: "s", Operation: "HARVEST", Request: json.RawMessage(`{"url":"https://x"}`)}, Endpoint: "works",
		Slice: json.RawMessage(`{}`), Snapshot: []byte(`{"a":1}`), Written: []Written{{ID: "1", Version: 1, Action: record.Insert, FetchAt: noon, Fields: json.RawMessage(`{"t":"x"}`)}},
		Heads: []Head{{ID: "2", BatchID: 5, ContentHash: []byte{1, 2}, FetchAt: noon}}, Rejects: []Rejected{{Key: "k", Reason: record.BadItem}}, Events: []view.CursorEvent{{ID: 9}},
	}
	b.Keys.BatchID, b.Keys.RunID, b.Keys.SpecFingerprint = 7, 3, fingerprint.Bytes(b.Snapshot)
	return b
}

func asIs(text []byte) []byte { return text }

func pack(t interface{ Fatal(...any) }, body []byte) (Manifest, map[string][]byte) {
	m, parts, err := Pack(aBox(), body, Manifest{CreatedAt: noon, ExpiresAt: noon.Add(time.Hour), Actor: "ann", Reason: "why"}, asIs)
	if err != nil {
		t.Fatal(err)
	}
	return m, parts
}

func TestBundleComesBackAsItWent(t *testing.T) {
	for _, body := range [][]byte{nil, []byte("the body")} {
		m, parts := pack(t, body)
		b, got, read, err := Unpack(parts, m.Seal, noon)
		if err != nil {
			t.Fatal(err)
		}
		want := aBox()
		wanted, _ := json.Marshal(want)
		box, _ := json.Marshal(b)
		if !bytes.Equal(wanted, box) && fingerprintOf(t, wanted) != fingerprintOf(t, box) || string(b.Snapshot) != string(want.Snapshot) || !bytes.Equal(got, body) || read.Seal != m.Seal {
			t.Errorf("%s\n%s", box, wanted)
		}
		if _, _, _, err := Unpack(parts, "", noon); err != nil {
			t.Errorf("without a seal: %v", err)
		}
	}
}

func fingerprintOf(t *testing.T, text []byte) string {
	t.Helper()
	out, err := fingerprint.Of(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestExpiredBundleIsRefused(t *testing.T) {
	_, parts := pack(t, nil)
	for at, refused := range map[time.Time]bool{noon.Add(time.Hour - 1): false, noon.Add(time.Hour): true, noon.Add(48 * time.Hour): true} {
		if _, _, _, err := Unpack(parts, "", at); errors.Is(err, ErrExpired) != refused || refused && !errors.Is(err, fault.ErrConflict) {
			t.Errorf("%v: %v", at, err)
		}
	}
}

// A bundle that another version made is refused like any other (exit code 6), and it
// is said what to do.
func TestBundleOfAnotherFormatIsRefused(t *testing.T) {
	_, parts := pack(t, nil)
	parts[ManifestName] = bytes.Replace(parts[ManifestName], []byte(`"format": 1`), []byte(`"format": 2`), 1)
	if _, _, _, err := Unpack(parts, "", noon); !errors.Is(err, fault.ErrConflict) || errors.Is(err, ErrTampered) || !strings.Contains(err.Error(), "format 2") || strings.Contains(err.Error(), "stored row") {
		t.Errorf("%v", err)
	}
}

// Whatever byte of whatever part is changed, and whatever part is added or taken
// away: it is noticed, and never a panic (A35).
func TestTamperedBundleIsRefused(t *testing.T) {
	m, whole := pack(t, []byte("the body"))
	rapid.Check(t, func(t *rapid.T) {
		parts := maps.Clone(whole)
		name := rapid.SampledFrom(Names()).Draw(t, "part")
		switch rapid.SampledFrom([]string{"change", "remove", "append"}).Draw(t, "how") {
		case "change":
			text := bytes.Clone(parts[name])
			i := rapid.IntRange(0, len(text)-1).Draw(t, "byte")
			with := rapid.Byte().Draw(t, "with")
			if text[i] == with {
				return
			}
			text[i] = with
			parts[name] = text
		case "remove":
			delete(parts, name)
		case "append":
			parts[name] = append(bytes.Clone(parts[name]), 'x')
		}
		_, _, read, err := Unpack(parts, m.Seal, noon)
		if err == nil && (name != ManifestName || said(read) != said(m)) {
			t.Fatalf("%s was changed, and taken", name)
		}
	})
}

// said is all that a manifest says: white space in its file may change.
func said(m Manifest) string {
	text, _ := json.Marshal(m)
	return string(text)
}

// Somebody who writes the manifest anew can make it fit, but not to the seal that
// was told.
func TestForgedBundleDoesNotFitItsSeal(t *testing.T) {
	m, parts := pack(t, []byte("the body"))
	forged := aBox()
	forged.Batch.Source = "other"
	_, other, err := Pack(forged, []byte("another body"), Manifest{CreatedAt: m.CreatedAt, ExpiresAt: m.ExpiresAt.Add(time.Hour), Actor: "ann", Reason: "why"}, asIs)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Unpack(other, m.Seal, noon); !errors.Is(err, ErrTampered) {
		t.Errorf("%v", err)
	}
	parts["body"] = other["body"]
	if _, _, _, err := Unpack(parts, "", noon); !errors.Is(err, ErrTampered) || !strings.Contains(err.Error(), "body") {
		t.Errorf("%v", err)
	}
	wrong := aBox()
	wrong.Snapshot = []byte(`{"a":2}`)
	if _, other, err = Pack(wrong, nil, Manifest{ExpiresAt: m.ExpiresAt}, asIs); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Unpack(other, "", noon); !errors.Is(err, ErrTampered) || !strings.Contains(err.Error(), "fingerprint") {
		t.Errorf("another snapshot: %v", err)
	}
}

func TestPackMasks(t *testing.T) {
	mask := func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("canary"), []byte("[secret]")) }
	b := aBox()
	b.Written[0].Fields = json.RawMessage(`{"t":"canary"}`)
	m, parts, err := Pack(b, []byte("my canary sings"), Manifest{ExpiresAt: noon.Add(1)}, mask)
	if err != nil || !m.Scrubbed {
		t.Fatalf("%v %+v", err, m)
	}
	for name, text := range parts {
		if bytes.Contains(text, []byte("canary")) {
			t.Errorf("%s: %s", name, text)
		}
	}
	b.Snapshot = []byte(`{"a":"canary"}`)
	if _, _, err := Pack(b, nil, Manifest{}, mask); !errors.Is(err, fault.ErrInvalid) || strings.Contains(err.Error(), "canary") {
		t.Errorf("a snapshot with a secret: %v", err)
	}
}

package ingest

import (
	"cmp"
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestNumbersCompareByValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Range(0, IDEnd).Draw(t, "a"), rapid.Int64Range(0, IDEnd).Draw(t, "b")
		if got := IDPoint(a).Compare(IDPoint(b)); got != cmp.Compare(a, b) {
			t.Fatalf("points compare %d", got)
		}
		if got := cmp.Compare(CursorID.Sortable(IDPoint(a)), CursorID.Sortable(IDPoint(b))); got != cmp.Compare(a, b) {
			t.Fatalf("texts compare %d", got)
		}
		again, err := CursorID.Parse("00" + CursorID.Text(IDPoint(a)))
		if err != nil || !again.Equal(IDPoint(a)) || IDNumber(again) != a {
			t.Fatalf("%d became %v (%v)", a, again, err)
		}
	})
}

func TestCursorTexts(t *testing.T) {
	noon := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, typ := range map[string]CursorType{"2025-03-01T13:00:00+01:00": CursorTime, "2025-03-01T12:00:00Z": CursorTime} {
		if at, err := typ.Parse(text); err != nil || !at.Equal(noon) || typ.Text(at) != "2025-03-01T12:00:00Z" || typ.Sortable(at) != "" {
			t.Errorf("%s: %v %v", text, at, err)
		}
	}
	for _, bad := range []string{"x", "-1", "1.5", "72057594037927937", "2025-03-01"} {
		if at, err := CursorID.Parse(bad); err == nil {
			t.Errorf("%s was read as %v", bad, at)
		}
	}
	for _, typ := range []CursorType{CursorTime, CursorID} {
		if at, err := typ.Parse(""); err != nil || !at.IsZero() || typ.Text(at) != "" || typ.Sortable(at) != "" {
			t.Errorf("no %s: %v %v", typ, at, err)
		}
	}
	if _, err := json.Marshal(IDSpan(0, IDEnd)); err != nil {
		t.Errorf("the whole line of ids cannot be written: %v", err)
	}
	if (Namespace{}).Line() != CursorTime || (Namespace{Type: CursorID}).Line() != CursorID {
		t.Error("types of namespaces")
	}
}

package event

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
)

func TestReferencesAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 30, -1)
		want := Ref{text.Draw(t, "source"), text.Draw(t, "endpoint"), string(rapid.SliceOfN(rapid.Byte(), 1, 30).Draw(t, "id")), rapid.IntRange(1, 1<<30).Draw(t, "version")}
		got, err := ParseReference(Reference(Change{Source: want.Source, Endpoint: want.Endpoint, RecordID: want.RecordID, Version: want.Version}))
		if err != nil || got != want {
			t.Fatalf("%+v, want %+v: %v", got, want, err)
		}
	})
	for _, text := range []string{"", "patra://a/b/c", "patra://a/b/c?version=0", "patra://a/b/c?version=x", "patra://a/b?version=1", "patra://a/b/c/d?version=1", "http://a/b/c?version=1",
		"patra://a/b/%zz?version=1", "patra:///b/c?version=1", "patra://a/b/c?v=1"} {
		if _, err := ParseReference(text); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

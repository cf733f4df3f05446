package trust

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// Consent can be about a secret or about stored records; a credential can only name a secret.
func TestRecordsAreNamedByConsentOnly(t *testing.T) {
	for text, want := range map[string]string{
		"env:KEY": "env:KEY", "records:crossref/works": "records:crossref/works", "records:": "", "records:crossref": "", "records:/works": "", "records:crossref/": "",
		"records:a/b/c": "", "records:a/b c": "", "KEY": "",
	} {
		var r Ref
		if err := r.UnmarshalText([]byte(text)); (err == nil) != (want != "") || r.String() != want {
			t.Errorf("%s: %q, %v", text, r, err)
		}
	}
	var s secret.Ref
	if err := s.UnmarshalText([]byte("records:crossref/works")); err == nil {
		t.Error("a credential can be stored records")
	}
	u := Use{OfRecords("crossref/works"), "api.example.org"}
	text, err := json.Marshal(u)
	var again Use
	if err != nil || json.Unmarshal(text, &again) != nil || again != u {
		t.Errorf("%s: %+v, %v", text, again, err)
	}
	if u.Command() != "patra source trust records:crossref/works api.example.org" || !strings.Contains(u.String(), "what is stored of crossref/works to api.example.org") {
		t.Errorf("%s, %s", u.Command(), u)
	}
	if p := (Policy{Secrets: map[string][]Ref{"api.example.org": {u.Ref}}}); !p.Allows(u) || p.Allows(Use{u.Ref, "b.example.org"}) || p.Allows(Use{OfRecords("crossref/journals"), u.Host}) {
		t.Error("consent is for one pair")
	}
}

// What is stored of another source is a use of each host that a snapshot asks; what is stored of the source itself came from there.
func TestRecordsOfAnotherSourceAreAUse(t *testing.T) {
	s := spec.Snapshot{Source: "tracker", Endpoint: "issues", Parent: &spec.Parent{Source: "hub", Endpoint: "repos"}}
	s.HTTP = exchange.Config{BaseURL: "https://tracker.example.org/v1"}
	if got := Of(s); len(got) != 1 || got[0] != (Use{OfRecords("hub/repos"), "tracker.example.org"}) {
		t.Errorf("%v", got)
	}
	if w := Warnings(s, func(Use) bool { return false }); len(w) != 1 || w[0].Code != "W-RECORDS-HOST" || !strings.Contains(w[0].Message, "hub/repos to tracker.example.org") {
		t.Errorf("%v", w)
	}
	s.Parent.Source = "tracker"
	if got := Of(s); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

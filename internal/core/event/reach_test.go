package event

import (
	"slices"
	"strings"
	"testing"
)

// Who declares two receivers for one event is told that it goes to one.
func TestRoutesThatGetNothing(t *testing.T) {
	for routes, want := range map[string]string{
		"{to: [files, other]}":                          "an event goes to one destination",
		"{to: files}, {to: files}":                      "routes[1]: gets nothing: its events go to routes[0], before it; an event goes to one destination",
		"{to: files}, {sources: [crossref], to: files}": "routes[1]: gets nothing",
		"{sources: [a, b], to: files}, {sources: [b], endpoints: [works], to: files}, {to: files}":                                                "routes[1]: gets nothing",
		"{events: [inserted]}, {events: [updated, removed]}, {sources: [a], events: [inserted, removed]}":                                         "routes[2]: gets nothing: its events go to routes[0] and routes[1], before it",
		"{sources: [a], events: [removed]}, {sources: [a], events: [inserted, removed], to: files}, {endpoints: [works], to: files}, {to: files}": "",
	} {
		_, err := ReadDeclaration([]byte("destinations: [{name: files, jsonl: {dir: events}}]\nroutes: [" + routes + "]\n"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s\ngave %v, want %q", routes, err, want)
		}
	}
}

func TestStrangers(t *testing.T) {
	d := Declaration{Routes: []Route{{Sources: []string{"crossref", "gone"}}, {Sources: []string{"gone", "pubmd"}}, {}}}
	if got := d.Strangers([]string{"crossref", "pubmed"}); !slices.Equal(got, []string{"gone", "pubmd"}) {
		t.Error(got)
	}
}

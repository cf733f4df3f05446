package event

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Who declares two receivers for one event is told that it goes to one.
func TestRoutesThatGetNothing(t *testing.T) {
	for routes, want := range map[string]string{
		"{to: [files, other]}":                          "an event goes to one destination",
		"{to: files}, {to: files}":                      "routes[1]: gets nothing: its events go to routes[0], above it; an event goes to one destination",
		"{to: files}, {sources: [crossref], to: files}": "routes[1]: gets nothing",
		"{sources: [a, b], to: files}, {sources: [b], endpoints: [works], to: files}, {to: files}":                                                "routes[1]: gets nothing",
		"{events: [inserted]}, {events: [updated, removed]}, {sources: [a], events: [inserted, removed]}":                                         "routes[2]: gets nothing: its events go to routes[0] and routes[1], above it",
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

// A file with thousands of routes is judged by what each of them names, not by every
// combination of all names: that would be twelve milliards of them here.
func TestTrust08ManyRoutes(t *testing.T) {
	d := Declaration{Destinations: []Destination{{Name: "files", Content: WholeRecord, MaxBytes: defaultMaxBytes, JSONL: &JSONL{Dir: "events"}}}}
	for i := range 2000 {
		d.Routes = append(d.Routes, Route{Sources: []string{fmt.Sprint("s", i)}, Endpoints: []string{fmt.Sprint("e", i)}, To: "files"})
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	d.Routes = append(d.Routes, Route{Sources: []string{"s7", "s8"}, Endpoints: []string{"e7"}, To: "files"}, Route{To: "files"})
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	d.Routes = append(d.Routes, Route{Sources: []string{"s7"}, To: "files"})
	if err := d.Validate(); err == nil || !strings.Contains(err.Error(), "routes[2002]: gets nothing: its events go to routes[2001], above it") {
		t.Error(err)
	}
	crowd := make([]string, 2000)
	for i := range crowd {
		crowd[i] = fmt.Sprint("n", i)
	}
	d.Routes = []Route{{Sources: crowd, Endpoints: crowd, To: "files"}}
	if err := d.Validate(); err == nil || !strings.Contains(err.Error(), "combinations") {
		t.Errorf("%.200v", err)
	}
}

// What the quick way says of a route is what trying every combination says.
func TestReachIsWhatTryingTells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d Declaration
		some := func(label string, of ...string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 0, 2, rapid.ID[string]).Draw(t, label)
		}
		for range rapid.IntRange(1, 6).Draw(t, "routes") {
			d.Routes = append(d.Routes, Route{Sources: some("sources", "a", "b"), Endpoints: some("endpoints", "x", "y"), Events: some("events", "inserted", "updated", "removed")})
		}
		reached := make([]bool, len(d.Routes))
		for _, source := range []string{"a", "b", "other"} {
			for _, endpoint := range []string{"x", "y", "other"} {
				for _, op := range []Op{Inserted, Updated, Removed} {
					if i := slices.IndexFunc(d.Routes, func(r Route) bool { return r.fitsChange(source, endpoint, op) }); i >= 0 {
						reached[i] = true
					}
				}
			}
		}
		told := strings.Join(d.unreachableRoutes(), "\n")
		for i := range d.Routes {
			if strings.Contains(told, fmt.Sprintf("routes[%d]: gets nothing", i)) == reached[i] {
				t.Fatalf("routes[%d] of %+v: reached is %v, told\n%s", i, d.Routes, reached[i], told)
			}
		}
	})
}

package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/sector"
)

const hubFile = `source: hub
name: Hub
http: {baseUrl: "https://hub.example.org"}
filter: {field: updated}
paging: {type: ONE}
endpoints:
  repos:
    role: SEARCH
    request: {path: /repos, query: {from: "${filter.from}", to: "${filter.to}"}}
    response: {items: $.repos, id: $.id, updatedAt: $.updated, fields: {name: $.name}}
`

const trackerFile = `source: tracker
name: Tracker
http: {baseUrl: "https://tracker.example.org"}
filter: {field: updated}
paging: {type: ONE}
endpoints:
  issues:
    role: SEARCH
    partitions: {repo: {from: {source: hub, endpoint: repos, value: $.id}}}
    request: {path: "/issues/${partition.repo}", query: {from: "${filter.from}", to: "${filter.to}"}}
    response: {items: $.issues, id: $.id, updatedAt: $.updated, fields: {title: $.title}}
`

// The file is right by itself. What only the other source can show is wrong is told with the place and with what to do.
func TestParentsOfOtherSourcesAreChecked(t *testing.T) {
	fromTracker := strings.Replace(hubFile, "    request: {path: /repos,", "    partitions: {issue: {from: {source: tracker, endpoint: issues, value: $.id}}}\n    request: {path: \"/repos/${partition.issue}\",", 1)
	throughThird := strings.ReplaceAll(fromTracker, "tracker", "third")
	third := strings.NewReplacer("source: tracker", "source: third", "source: hub", "source: tracker", "endpoint: repos", "endpoint: issues").Replace(trackerFile)
	for name, of := range map[string]struct {
		want   string
		others []string
	}{
		"there":          {"", []string{hubFile}},
		"missing":        {"tracker.yaml:9:40: endpoints.issues.partitions.repo.from.source: E-PARTITION: there is no source hub (apply it first", nil},
		"other endpoint": {"from.endpoint: E-PARTITION: of source hub: there is no endpoint \"repos\"", []string{strings.Replace(hubFile, "repos:", "projects:", 1)}},
		"no list":        {"repos is not harvested", []string{strings.Replace(hubFile, "role: SEARCH", "role: SEARCH\n    supports: [BACKFILL]", 1)}},
		"no JSON":        {"stored as XML", []string{strings.Replace(hubFile, "items: $.repos", "format: XML, items: $.repos", 1)}},
		"a circle":       {"depend on themselves: tracker/issues → hub/repos → tracker/issues", []string{fromTracker}},
		"a wide circle":  {"depend on themselves: tracker/issues → hub/repos → third/issues → tracker/issues", []string{throughThird, third}},
		"a long chain":   {"", []string{throughThird, strings.Replace(third, "partitions: {repo: {from: {source: tracker, endpoint: issues, value: $.id}}}", "partitions: {repo: {values: [a]}}", 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]*Source{}
			for _, text := range append([]string{trackerFile}, of.others...) {
				src, _, err := Decode("tracker.yaml", []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				all[src.Code] = src
			}
			tracker := all["tracker"]
			delete(all, "tracker") // it is not applied yet
			find := func(code string) (*Source, error) { return all[code], nil }
			if problems := tracker.Validate(); len(problems) > 0 || !slices.Equal(tracker.ForeignParents(), []string{"hub"}) {
				t.Fatalf("%v, %v", problems, tracker.ForeignParents())
			}
			problems, err := tracker.ForeignProblems(find)
			if err != nil || len(problems) > 0 != (of.want != "") || !strings.Contains(problems.Error(), of.want) {
				t.Errorf("%v, %v", problems, err)
			}
			from := &sector.From{Source: "hub", Endpoint: "repos"}
			if parent, err := tracker.ForeignParent("issues", from, find); (err != nil) != (of.want != "") || err == nil && parent.Endpoint != "repos" || err != nil && !errors.As(err, new(*ParentError)) {
				t.Errorf("%v", err)
			}
		})
	}
	broken := errors.New("no database")
	src, _, _ := Decode("tracker.yaml", []byte(trackerFile))
	if _, err := src.ForeignProblems(func(string) (*Source, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("a fault of the database is taken for one of the file: %v", err)
	}
}

// Which other source it is stands in an export and in a difference.
func TestTheOtherSourceIsShown(t *testing.T) {
	one, _, err := Decode("tracker.yaml", []byte(trackerFile))
	if err != nil {
		t.Fatal(err)
	}
	text := Export(one)
	again, _, err := Decode("tracker.yaml", text)
	if err != nil || len(Diff(one, again)) > 0 || !slices.Equal(again.ForeignParents(), []string{"hub"}) {
		t.Errorf("%s: %v", text, err)
	}
	other, _, err := Decode("tracker.yaml", []byte(strings.Replace(trackerFile, "source: hub", "source: club", 1)))
	if err != nil {
		t.Fatal(err)
	}
	changes := Diff(one, other)
	if len(changes) != 1 || changes[0].Path != "endpoints.issues.partitions.repo.from.source" {
		t.Errorf("%+v", changes)
	}
}

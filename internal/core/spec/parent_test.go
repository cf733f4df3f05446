package spec

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/registry"
)

// A source that leaves out parents which did not change says so with every plan of a harvest, and asks the same question.
func TestChangedParentsAreWarnedOf(t *testing.T) {
	changed := strings.Replace(withParents, "since: $.created_at}", "since: $.created_at, changed: true}", 1)
	var keys []string
	for text, want := range map[string]bool{withParents: false, changed: true} {
		src, _, err := registry.Decode("forge.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for operation, on := range map[string]bool{"HARVEST": want, "BACKFILL": false} {
			r, err := registry.Resolve(src, "issues", operation, nil)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Compile(r)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, w := range c.Warnings {
				found = found || w.Code == "W-CHANGED-PARENTS" && strings.Contains(w.Message, "P30D")
			}
			if found != on || c.Snapshot.AsksChanged() != on {
				t.Errorf("%s: %v", operation, c.Warnings)
			}
			if operation == "HARVEST" {
				n, err := c.Namespace()
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, n.Key)
			}
		}
	}
	if keys[0] != keys[1] {
		t.Error("it is another question")
	}
}

const withParents = `source: forge
name: Forge
http: {baseUrl: "https://api.example.org"}
filter: {field: updated}
endpoints:
  repos:
    role: SEARCH
    request: {path: /repos, query: {from: "${filter.from}", to: "${filter.to}"}}
    paging: {type: ONE}
    response: {items: $.repos, id: $.id, updatedAt: $.updated, fields: {name: $.full_name}}
  issues:
    role: SEARCH
    partitions:
      repo: {from: {endpoint: repos, value: $.id, carry: {name: $.full_name}, since: $.created_at}}
      state: {values: [open, closed]}
    request: {path: "/repos/${partition.repo.name}/issues", query: {state: "${partition.state}", from: "${filter.from}", to: "${filter.to}"}}
    paging: {type: ONE}
    response: {items: $.issues, id: "${partition.repo}/${jsonPath('$.number')}", updatedAt: $.updated, fields: {repo: "${partition.repo.name}"}}
`

func compileParents(t *testing.T, old, by string) (*Compiled, error) {
	t.Helper()
	src, _, err := registry.Decode("forge.yaml", []byte(strings.Replace(withParents, old, by, 1)))
	if err != nil {
		return nil, err
	}
	r, err := registry.Resolve(src, "issues", "HARVEST", nil)
	if err != nil {
		return nil, err
	}
	return Compile(r)
}

// A program asks for what a stored parent says, and knows since when; a parent that lacks what is carried is refused by name.
func TestProgramAsksForAParent(t *testing.T) {
	c, err := compileParents(t, "", "")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(c.Canonical)
	if err != nil {
		t.Fatal(err)
	}
	p, err := loaded.Program()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.In(map[string]string{"repo": "~1/4", "state": "open"}); err != nil || p.Sector() != "repo=~1/4,state=open" {
		t.Fatal(p.Sector(), err)
	}
	if m, err := p.Meant(); err != nil || m.Run == nil || m.Run.Of != 4 {
		t.Errorf("%+v, %v", m, err)
	}
	one, err := p.ReadParent("17", []byte(`{"id": 17, "full_name": "a/b", "created_at": "2024-05-06T07:08:09Z"}`))
	if err != nil || one.Name != "repo=17,state=open" || !one.Since.Equal(time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)) {
		t.Fatalf("%+v, %v", one, err)
	}
	q, err := p.InParent(one).Ask(referenceWindow, referenceWindow.To)
	if err != nil {
		t.Fatal(err)
	}
	request, err := q.Page(paging.State{})
	if err != nil || !strings.HasPrefix(request.URL.String(), "https://api.example.org/repos/a%2Fb/issues?") || !strings.Contains(request.URL.RawQuery, "state=open") {
		t.Errorf("%v, %v", request.URL, err)
	}
	asked := p.InParent(one).Expect(referenceWindow, referenceWindow.To, 0)
	in, _, err := p.Read.Item([]byte(`{"number": 3, "updated": "2024-06-01T00:00:00Z"}`), asked)
	if err != nil || in.ProviderID != "17/3" || !strings.Contains(string(in.Fields), `"a/b"`) {
		t.Errorf("%+v, %v", in, err)
	}
	for item, want := range map[string]string{
		`{"full_name": "a/b"}`: "partitions.repo.from: $.id",
		`{"id": 17}`:           "partitions.repo.from.carry.name: nothing stands at $.full_name",
	} {
		if one, err := p.ReadParent("17", []byte(item)); err == nil || !strings.Contains(err.Error(), want) || one.Name != "repo=17,state=open" {
			t.Errorf("%s: %+v, %v", item, one, err)
		}
	}
	if one, err := p.ReadParent("17", []byte(`{"id": 17, "full_name": "a/b", "created_at": "yesterday"}`)); err != nil || !one.Since.IsZero() {
		t.Errorf("%+v, %v", one, err)
	}
}

// What is asked of a parent is part of the question; how the parents themselves are found is not.
func TestParentsAreTheQuestion(t *testing.T) {
	hash := func(old, by string) string {
		c, err := compileParents(t, old, by)
		if err != nil {
			t.Fatal(err)
		}
		n, err := c.Namespace()
		if err != nil {
			t.Fatal(err)
		}
		return n.Key
	}
	same := hash("", "")
	if hash("name: $.full_name}, since", "name: $.name}, since") == same {
		t.Error("another value is the same question")
	}
	if hash("path: /repos,", "path: /repositories,") != same || hash(", since: $.created_at", "") != same {
		t.Error("it depends on how parents are found")
	}
}

// What would lose records is refused, by name.
func TestParentsAreRefused(t *testing.T) {
	for want, change := range map[string][2]string{
		"there is no endpoint":         {"endpoint: repos", "endpoint: repo"},
		"depend on themselves":         {"endpoint: repos", "endpoint: issues"},
		"E-PARTITION-UNSENT":           {"/repos/${partition.repo.name}/issues", "/issues"},
		"nothing that partitions.repo": {"/repos/${partition.repo.name}/issues", "/repos/${partition.repo.title}/issues"},
		"the same for every record":    {"value: $.id", "value: \"${lower('x')}\""},
		"is not harvested":             {"    role: SEARCH\n    request: {path: /repos,", "    role: SEARCH\n    supports: [BACKFILL]\n    request: {path: /repos,"},
		"stored as XML":                {"response: {items: $.repos,", "response: {format: XML, items: $.repos,"},
		"the same for every item of a": {"id: \"${partition.repo}/${jsonPath('$.number')}\"", `id: "${partition.repo}"`},
		"one by one; drop values":      {"repo: {from:", "repo: {values: [x], from:"},
		"both take their values":       {"state: {values: [open, closed]}", "state: {from: {endpoint: repos, value: $.state}}"},
		"what a record carries":        {"${partition.state}", "${partition.state.name}"},
		"one unit of time":             {"paging: {type: ONE}\n    response: {items: $.issues", "filter: {bounds: UNIT, precision: DAY}\n    paging: {type: ONE}\n    response: {items: $.issues"},
		"no name for templates":        {"carry: {name: $.full_name}", `carry: {"na-me": $.full_name}`},
		"such as $.id":                 {"value: $.id, ", ""},
		"names the endpoint whose":     {"endpoint: repos, ", ""},
		"names the source itself":      {"endpoint: repos", "source: forge, endpoint: repos"},
		"no code of a source":          {"endpoint: repos", "source: a/b, endpoint: repos"},
	} {
		if _, err := compileParents(t, change[0], change[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

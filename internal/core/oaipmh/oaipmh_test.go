package oaipmh

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"pgregory.net/rapid"
)

var now = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

func at(t testing.TB, text string) Address {
	t.Helper()
	a, err := ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// checked decodes and validates a file, and compiles nothing that would ask for it.
func checked(t interface {
	Fatalf(string, ...any)
}, text string) *registry.Source {
	src, _, err := registry.Decode("mine.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if problems := src.Validate(); len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, text)
	}
	return src
}

func TestAddresses(t *testing.T) {
	a := at(t, " https://repo.example.org:8443/oai/request?verb=Identify&repo=main ")
	if a.Base != "https://repo.example.org:8443" || a.Path != "/oai/request" || len(a.Query) != 1 || a.Query["repo"] != "main" {
		t.Errorf("%+v", a)
	}
	for _, bad := range []string{"", "repo.example.org", "ftp://repo.example.org/", "https://me:word@repo.example.org/oai", "https://repo.example.org/${x}"} {
		if _, err := ParseAddress(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// What a repository says becomes settings; what it cannot mean is told and left out.
func TestFactsBecomeSettings(t *testing.T) {
	const seconds = "YYYY-MM-DDThh:mm:ssZ"
	for name, c := range map[string]struct {
		facts               Facts
		wanted              Wanted
		precision, earliest string
		note                string
	}{
		"days":                    {Facts{Earliest: "1999-05-01", Granularity: daily, Deleted: "persistent", Prefixes: []string{"oai_dc"}}, Wanted{}, "DAY", "1999-05-01", ""},
		"seconds":                 {Facts{Earliest: "1999-05-01T10:11:12Z", Granularity: seconds, Deleted: "persistent", Prefixes: []string{"oai_dc"}}, Wanted{}, "SECOND", "1999-05-01", ""},
		"other letters":           {Facts{Earliest: "1999-05-01T10:11:12Z", Granularity: "YYYY-MM-DDTHH:MM:SSZ", Deleted: "persistent", Prefixes: []string{"oai_dc"}}, Wanted{}, "SECOND", "1999-05-01", ""},
		"a granularity of nobody": {Facts{Earliest: "1999-05-01", Granularity: "YYYY", Deleted: "persistent", Prefixes: []string{"oai_dc"}}, Wanted{}, "DAY", "1999-05-01", `"YYYY"`},
		"no granularity":          {Facts{Earliest: "1999-05-01", Deleted: "persistent", Prefixes: []string{"oai_dc"}}, Wanted{}, "DAY", "1999-05-01", "granularity"},
		"seconds since a day":     {Facts{Earliest: "1999-05-01", Granularity: seconds, Deleted: "persistent", Prefixes: []string{"oai_dc"}}, Wanted{}, "DAY", "1999-05-01", "seconds, but"},
		"no beginning":            {Facts{Granularity: daily, Deleted: "persistent", Prefixes: []string{"oai_dc"}}, Wanted{}, "DAY", "", "window.earliest"},
		"no date":                 {Facts{Earliest: "0000-00-00", Granularity: daily, Deleted: "persistent", Prefixes: []string{"oai_dc"}}, Wanted{}, "DAY", "", "no date"},
		"a beginning to come":     {Facts{Earliest: "2999-01-01", Granularity: daily, Deleted: "persistent", Prefixes: []string{"oai_dc"}}, Wanted{}, "DAY", "", "lies in the future"},
		"deletions for a while":   {Facts{Earliest: "1999-05-01", Granularity: daily, Deleted: "transient", Prefixes: []string{"oai_dc"}}, Wanted{}, "DAY", "1999-05-01", "for a while"},
		"no deletions":            {Facts{Earliest: "1999-05-01", Granularity: daily, Deleted: "no", Prefixes: []string{"oai_dc"}}, Wanted{}, "DAY", "1999-05-01", "does not announce"},
		"nothing of deletions":    {Facts{Earliest: "1999-05-01", Granularity: daily, Prefixes: []string{"oai_dc"}}, Wanted{}, "DAY", "1999-05-01", "does not say whether"},
		"no formats":              {Facts{Earliest: "1999-05-01", Granularity: daily, Deleted: "persistent"}, Wanted{}, "DAY", "1999-05-01", "lists no metadata formats"},
		"another format":          {Facts{Earliest: "1999-05-01", Granularity: daily, Deleted: "persistent", Prefixes: []string{"mods"}}, Wanted{}, "DAY", "1999-05-01", "mods is taken"},
		"a format it lacks":       {Facts{Earliest: "1999-05-01", Granularity: daily, Deleted: "persistent", Prefixes: []string{"oai_dc"}}, Wanted{Prefix: "mods"}, "DAY", "1999-05-01", "does not list the format mods"},
		"a set":                   {Facts{Earliest: "1999-05-01", Granularity: daily, Deleted: "persistent", Prefixes: []string{"oai_dc"}, Sets: []Set{{"a:b", "B"}}}, Wanted{Set: "a:b"}, "DAY", "1999-05-01", ""},
		"a set it lacks":          {Facts{Earliest: "1999-05-01", Granularity: daily, Deleted: "persistent", Prefixes: []string{"oai_dc"}, Sets: []Set{{"a:b", "B"}}}, Wanted{Set: "c"}, "DAY", "1999-05-01", "does not list the set c"},
	} {
		c.wanted.Code, c.wanted.File = "mine", "mine.yaml"
		text, notes := FileFor(at(t, "https://repo.example.org/oai"), c.facts, c.wanted, now)
		src := checked(t, text)
		r, err := registry.Resolve(src, "records", "HARVEST", nil)
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Filter.Precision) != c.precision || !strings.HasPrefix(r.Window.Earliest, c.earliest) || c.earliest == "" && r.Window.Earliest != "" {
			t.Errorf("%s: precision %s, earliest %q", name, r.Filter.Precision, r.Window.Earliest)
		}
		if all := strings.Join(notes, "\n"); !strings.Contains(all, c.note) || (c.note == "") != (all == "") {
			t.Errorf("%s: notes %q, want %q", name, notes, c.note)
		}
	}
}

// Whatever a repository says of itself, the file is valid and asks nobody else.
func TestAnyRepositoryGivesAValidFile(t *testing.T) {
	word := rapid.StringMatching(`[ -~äß\n"'${}:#\\]{0,40}`)
	rapid.Check(t, func(t *rapid.T) {
		f := Facts{Name: word.Draw(t, "name"), Earliest: word.Draw(t, "earliest"), Granularity: word.Draw(t, "granularity"), Deleted: word.Draw(t, "deleted"),
			Prefixes: rapid.SliceOfN(rapid.StringMatching(`[ -~\n]{1,20}`), 0, 3).Draw(t, "prefixes")}
		for range rapid.IntRange(0, 3).Draw(t, "sets") {
			f.Sets = append(f.Sets, Set{word.Draw(t, "spec"), word.Draw(t, "of set")})
		}
		for range rapid.IntRange(0, 3).Draw(t, "good sets") {
			f.Sets = append(f.Sets, Set{rapid.StringMatching(`[a-c](:[a-c]){0,2}`).Draw(t, "good spec"), ""})
		}
		bySet := f.CheckBySet() == nil
		text, _ := FileFor(Address{Base: "https://repo.example.org", Path: "/oai", Query: map[string]string{"repo": "main"}}, f, Wanted{Code: "mine", File: "mine.yaml", BySet: bySet}, now)
		src := checked(t, text)
		r, err := registry.Resolve(src, "records", "HARVEST", nil)
		if err != nil || r.HTTP.BaseURL != "https://repo.example.org" || r.HTTP.AllowPrivate || r.HTTP.AllowHTTP || len(src.Endpoints) != 1 || len(src.Credentials) != 0 {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}

func TestProbesAreSources(t *testing.T) {
	src := checked(t, ProbeFor(at(t, "https://repo.example.org/oai?repo=main"), "mine"))
	for _, name := range []string{Identify, Formats, Sets} {
		if e, ok := src.Endpoints[name]; !ok || !slices.Equal(e.Supports, []string{"UPDATE"}) {
			t.Errorf("no endpoint %s", name)
		}
	}
}

// Each set is asked for once: as itself, or within the one that holds it. None is asked for where not all are known.
func TestSetsArePartitions(t *testing.T) {
	for name, c := range map[string]struct {
		sets  []string
		more  bool
		want  []string // nil: refused
		cause string
	}{
		"one within another": {[]string{"col:1", "col", "col:1:x", "b:1", "colour"}, false, []string{"b:1", "col", "colour"}, ""},
		"twice":              {[]string{"a", "a"}, false, []string{"a"}, ""},
		"more pages":         {[]string{"a"}, true, nil, "several pages"},
		"none":               {nil, false, nil, "names no sets"},
		"an odd name":        {[]string{"a", "b c"}, false, nil, "does not allow"},
	} {
		f := Facts{Granularity: daily, MoreSets: c.more}
		for _, spec := range c.sets {
			f.Sets = append(f.Sets, Set{Spec: spec})
		}
		err := f.CheckBySet()
		if c.want == nil {
			if err == nil || !strings.Contains(err.Error(), c.cause) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		text, notes := FileFor(Address{Base: "https://repo.example.org", Path: "/oai"}, f, Wanted{Code: "mine", File: "mine.yaml", BySet: true}, now)
		r, resolved := registry.Resolve(checked(t, text), "records", "HARVEST", nil)
		if err != nil || resolved != nil || !slices.Equal(r.Partitions["set"].Values, c.want) || !strings.Contains(strings.Join(notes, " "), "in no set") {
			t.Errorf("%s: %v %v %v\n%s", name, err, resolved, notes, text)
		}
	}
}

package registry

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/sector"
)

const listedText = `source: example
name: Example
http: {baseUrl: https://api.example.org}
filter: {field: updated}
paging: {type: ONE}
response: {items: $.items, id: $.id, updatedAt: $.updated, fields: {title: $.title}}
partitions: {journal: {values: [one, two]}}
endpoints:
  works:
    role: SEARCH
    request: {path: "/works/${partition.journal}", query: {from: "${filter.from}", to: "${filter.to}"}}
    partitions: {journal: {valuesFile: journals.txt, perRequest: 2}}
    operations: {BACKFILL: {partitions: {journal: {valuesFile: old.txt}}}}
`

// The values of a file stand where the file was named, at its level, and nothing else is left of it.
func TestValuesOfAFileTakeItsPlace(t *testing.T) {
	src := decode(t, listedText)
	filled, lists, problems := src.FillValues(func(file string) ([]string, error) {
		return map[string][]string{"journals.txt": {"a", "b", "c"}, "old.txt": {"z"}}[file], nil
	})
	if problems != nil {
		t.Fatal(problems)
	}
	if problems := filled.Validate(); len(problems) > 0 {
		t.Fatal(problems)
	}
	for op, want := range map[string][]string{"HARVEST": {"a", "b", "c"}, "BACKFILL": {"z"}} {
		r, err := Resolve(filled, "works", op, nil)
		if err != nil || !reflect.DeepEqual(r.Partitions, map[string]sector.Config{"journal": {Values: want, PerRequest: 2}}) {
			t.Errorf("%s: %+v %v", op, r.Partitions, err)
		}
	}
	told := func(endpoint, op string) (out string) {
		for _, l := range lists.Reaching(endpoint, op) {
			out += fmt.Sprintf("%s %d;", l.File, l.Values)
		}
		return out
	}
	if h, b, o := told("works", "HARVEST"), told("works", "BACKFILL"), told("others", "HARVEST"); h != "journals.txt 3;" || b != "old.txt 1;journals.txt 3;" || o != "" {
		t.Errorf("%q %q %q", h, b, o)
	}
	text := string(Export(filled))
	if strings.Contains(text, "valuesFile") || !strings.Contains(text, "values: [a, b, c]") {
		t.Error(text)
	}
	if again := decode(t, text); len(Diff(filled, again)) > 0 {
		t.Error(Diff(filled, again))
	}
	if src.Validate() == nil {
		t.Error("a file that was not read counts as a list of values")
	}
}

// What is wrong with the values of a file is told at the key that names it.
func TestProblemsOfAFileOfValues(t *testing.T) {
	read := func(list ...string) ReadList { return func(string) ([]string, error) { return list, nil } }
	text := strings.Replace(listedText, "    operations: {BACKFILL: {partitions: {journal: {valuesFile: old.txt}}}}\n", "", 1)
	for _, tt := range []struct {
		text, want string
		read       ReadList
	}{
		{text, "f.yaml:12:40: endpoints.works.partitions.journal.valuesFile: E-VALUES-FILE: journals.txt: line 7 is odd",
			func(string) ([]string, error) { return nil, errors.New("line 7 is odd") }},
		{strings.Replace(text, "valuesFile: journals.txt", "values: [x], valuesFile: journals.txt", 1),
			"f.yaml:12:53: endpoints.works.partitions.journal.valuesFile: E-VALUES-FILE: values stand beside it (keep one of the two)", read("a")},
		{text, "f.yaml:12:40: endpoints.works.partitions.journal.values: E-PARTITION: \"a,b\" contains \",\"", read("a,b", "c")},
		{text, "larger than a source file may be", read(manyValues(sector.Most, strings.Repeat("x", 120))...)},
	} {
		src, _, err := Decode("f.yaml", []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		filled, _, problems := src.FillValues(tt.read)
		if problems == nil {
			problems = filled.Validate()
		}
		if !strings.Contains(problems.Error(), tt.want) {
			t.Errorf("%.300s, want\n%s", problems.Error(), tt.want)
		}
	}
}

// As many values as partitions may have come through the file that is exported.
func TestTheMostValuesAreExported(t *testing.T) {
	src := decode(t, listedText)
	filled, _, problems := src.FillValues(func(file string) ([]string, error) {
		if file == "old.txt" {
			return []string{"z"}, nil
		}
		return manyValues(sector.Most, "1234-"), nil
	})
	if problems != nil {
		t.Fatal(problems)
	}
	again := decode(t, string(Export(filled)))
	if d := Diff(filled, again); len(d) > 0 {
		t.Errorf("%+v", d)
	}
}

// Of a long list a difference tells what came and went, not all of it.
func TestDiffOfLongLists(t *testing.T) {
	with := func(values []string) *Source {
		src := decode(t, strings.Replace(listedText, ", valuesFile: old.txt", "", 1))
		e := src.Endpoints["works"]
		e.Partitions, e.Operations = map[string]sector.Config{"journal": {Values: values}}, nil
		src.Endpoints["works"] = e
		return src
	}
	old := manyValues(3000, "v")
	now := append([]string{"new 1", ""}, old[2:]...)
	const at = "endpoints.works.partitions.journal.values"
	for _, tt := range []struct {
		before, after []string
		want          Change
	}{
		{old, now, Change{at, Changed, "3000 values", `3000 values, 2 added: new 1, "", 2 removed: v0, v1`}},
		{old, old[1000:], Change{at, Changed, "3000 values", "2000 values, 1000 removed: v0, v1, v2, v3, v4, …"}},
		{old[:2], old, Change{at, Changed, "2 values", "3000 values, 2998 added: v2, v3, v4, v5, v6, …"}},
		{old, append([]string{"v1", "v0"}, old[2:]...), Change{at, Changed, "3000 values", "3000 values, the same in another order"}},
		{nil, old, Change{at, Added, "", "3000 values: v0, v1, v2, v3, v4, …"}},
		{old[:3], old[:4], Change{at, Changed, "[v0, v1, v2]", "[v0, v1, v2, v3]"}},
	} {
		if got := Diff(with(tt.before), with(tt.after)); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%+v, want %+v", got, tt.want)
		}
	}
}

func manyValues(n int, before string) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(before, i))
	}
	return out
}

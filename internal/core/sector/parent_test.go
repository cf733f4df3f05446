package sector

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
	"pgregory.net/rapid"
)

// Every parent lies in exactly one run, whatever the number of runs, and the bounds of the run say so.
func TestRunsHoldEveryParentOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := RunsFor(rapid.Int64Range(0, 5_000_000).Draw(t, "parents"))
		key := record.KeyOf(rapid.String().Draw(t, "id"))
		text, held := hex.EncodeToString(key[:]), 0
		for no := range of {
			run := Run{no, of}
			from, to := run.Bounds()
			within := text >= from && (to == "" || text < to)
			if run.Holds(key) != within {
				t.Fatalf("%s from %q to %q: %s", run, from, to, text)
			}
			if within {
				held++
			}
			read, err := ParseParent(run.String())
			if err != nil || read.Run == nil || *read.Run != run {
				t.Fatalf("%s is read as %+v, %v", run, read, err)
			}
		}
		if held != 1 {
			t.Fatalf("%s lies in %d of %d runs", text, held, of)
		}
	})
}

// A parent is found again by the name of its part, whatever its id looks like, and no id is taken for a run.
func TestAParentIsFoundByItsName(t *testing.T) {
	of := map[string]Config{"repo": {From: &From{}}, "lang": {Values: []string{"en", "d,e"}}}
	ids := rapid.OneOf(rapid.StringMatching(`[~#/0-9a-f%=,]{1,12}`), rapid.StringMatching(`[a-z/]{1,400}`))
	rapid.Check(t, func(t *rapid.T) {
		id := ids.Draw(t, "id")
		name := NameOf(map[string]string{"repo": ParentValue(id), "lang": rapid.SampledFrom([]string{"en", "d,e"}).Draw(t, "lang")})
		s, ok := Parse(of, name)
		if !ok || s.Name != name || len(name) > Longest {
			t.Fatalf("%q: %+v", name, s)
		}
		if meant, err := ParseParent(s.Values["repo"]); err != nil || meant.Run != nil || meant.Key != record.KeyOf(id) {
			t.Fatalf("%q is read as %+v, %v", name, meant, err)
		}
	})
	for _, name := range []string{"repo=17", "lang=fr,repo=17", "lang=en,repo=~3/5", "lang=en,repo=~4/4", "lang=en,repo=", "lang=en,repo=~#00"} {
		if s, ok := Parse(of, name); ok {
			t.Errorf("%q is read as %+v", name, s)
		}
	}
}

// Parents that failed are behind by themselves; a window that every run lost is owed by all.
func TestLaggingNamesParents(t *testing.T) {
	day := window.Window{From: hour(0), To: hour(8)}
	one := Slice{Sector: "repo=17", Window: day, State: Lost, Named: true}
	if got := Lagging([]window.Window{day}, []Slice{{Sector: "repo=~0/1", Window: day, State: Read}, one}, 1, hour(9)); len(got) != 1 || got[0].Sector != "repo=17" {
		t.Errorf("%+v", got)
	}
	if got := Lagging([]window.Window{day}, []Slice{{Sector: "repo=~0/1", Window: day, State: Lost}, one}, 1, hour(9)); len(got) != 0 {
		t.Errorf("nobody read it: %+v", got)
	}
	all := All{List: ListRuns(map[string]Config{"repo": {From: &From{}}}, 2), Of: map[string]Config{"repo": {From: &From{}}}}
	narrowed := []Narrow{{Window: day, Only: []string{"repo=17", "repo=~1/4", "repo=~1/2"}}}
	listed, few := Asked(all, []window.Window{day}, narrowed)
	var names []string
	for _, s := range few {
		names = append(names, s.Name)
	}
	if len(listed) != 0 || strings.Join(names, " ") != "repo=~1/2 repo=17 repo=~1/4" {
		t.Errorf("%v, %v", listed, names)
	}
}

// Two names meet if there is a parent that both stand for, and only then.
func TestNamesOfPartsMeet(t *testing.T) {
	runs := []int{1, 2, 4, 8}
	rapid.Check(t, func(t *rapid.T) {
		var holds [2]func(record.Key) bool
		var names [2]string
		for i := range names {
			value, lang := "", rapid.SampledFrom([]string{"en", "de"}).Draw(t, "lang")
			if rapid.Bool().Draw(t, "run") {
				of := rapid.SampledFrom(runs).Draw(t, "of")
				run := Run{rapid.IntRange(0, of-1).Draw(t, "no"), of}
				value, holds[i] = run.String(), run.Holds
			} else {
				id := rapid.SampledFrom([]string{"1", "2", "~3", "a,b", strings.Repeat("x", 300)}).Draw(t, "id")
				value, holds[i] = ParentValue(id), func(key record.Key) bool { return key == record.KeyOf(id) }
			}
			names[i] = NameOf(map[string]string{"lang": lang, "repo": value})
		}
		shared := false
		for no := range 8 {
			key := record.Key{byte(no * 32)}
			shared = shared || holds[0](key) && holds[1](key)
		}
		for _, id := range []string{"1", "2", "~3", "a,b", strings.Repeat("x", 300)} {
			shared = shared || holds[0](record.KeyOf(id)) && holds[1](record.KeyOf(id))
		}
		shared = shared && names[0][:7] == names[1][:7]
		if Meet(names[0], names[1]) != shared || Meet(names[1], names[0]) != shared {
			t.Fatalf("%s and %s: meet %v, share %v", names[0], names[1], Meet(names[0], names[1]), shared)
		}
	})
	for _, other := range []string{"set=a", "set=a,b=c", "repo=~0/3"} {
		if Meet("repo=17", other) {
			t.Errorf("repo=17 meets %s", other)
		}
	}
}

package registry

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) dictionary(t *testing.T) {
	s.test(t, "the lists come back as the program has them", func(w *world) {
		w.emptyDictionary()
		if n := w.seed(dictionary.All()); n == 0 {
			w.Error("an empty dictionary was left empty")
		}
		if got, want := w.stored(), byCode(dictionary.All()); !reflect.DeepEqual(got, want) {
			w.Errorf("got\n%+v\nwant\n%+v", got, want)
		}
		if n := w.Number("SELECT COUNT(*) FROM sys_dict_item WHERE is_default = 1 AND default_key <> type_id"); n != 0 {
			w.Errorf("%d defaults have the key of another list", n)
		}
	})
	s.test(t, "seeding twice writes nothing", func(w *world) {
		w.seed(dictionary.All())
		w.Clock.Advance(fixture.Day)
		w.Wire.LoseNext("seed dictionary") // it must not even begin a transaction: a start would wait for other writers
		w.Unchanged("second time", func() {
			if n := w.seed(dictionary.All()); n != 0 {
				w.Errorf("%d rows changed", n)
			}
		})
	})
	s.bare(t, "a migrated database is seeded", func(w *world) {
		_, err := w.Store.Migrate(w.Ctx)
		w.Must(err)
		if n := w.seed(dictionary.All()); n != 0 {
			w.Errorf("%d rows were missing", n)
		}
	})
	s.test(t, "a new program changes the lists", func(w *world) {
		w.emptyDictionary()
		w.seed(twoLists("A* B C", "X*", "OLD=A GONE=B"))
		next := twoLists("C B* D", "X*", "OLD=B NEW=C")
		next[0].Name = "Renamed"
		w.seed(next)
		w.listIs("open", "C B* D a(off)", "OLD=B NEW=C")
		if name := w.Text("SELECT type_name FROM sys_dict_type WHERE type_code = 'open'"); name != "Renamed" {
			w.Errorf("the list is called %q", name)
		}
		w.listIs("closed", "X*", "")
		w.seed(twoLists("A* B C", "X*", "OLD=A GONE=B"))
		w.listIs("open", "A* B C d(off)", "OLD=A GONE=B")
		w.seed(next[1:])
		w.listIs("open", "a(off) b(off) c(off) d(off)", "OLD=A GONE=B")
	})
	s.test(t, "what operators added stays as it is", func(w *world) {
		w.emptyDictionary()
		w.seed(twoLists("A* B", "X*", "OLD=A"))
		mine := w.addItem("open", "MINE", 5)
		w.Exec(`INSERT INTO sys_dict_item_alias (item_id, type_id, source_system, external_code, created_at, updated_at)
  SELECT id, type_id, 'theirs', 'EXTRA', 1, 1 FROM sys_dict_item WHERE id = ?`, mine)
		w.Exec("INSERT INTO sys_dict_type (type_code, type_name, allow_custom_items, is_system, created_at, updated_at) VALUES ('own','Own list',0,0,1,1)")
		w.addItem("own", "ANY", 10)
		w.Unchanged("same program", func() { w.seed(twoLists("A* B", "X*", "OLD=A")) })
		w.seed(twoLists("A B*", "X*", "")) // the operator's alias stays, ours goes with its system
		w.listIs("open", "MINE A B*", "OLD=A EXTRA=MINE")
		w.seed(twoLists("A B*", "X*", "NEW=B"))
		w.listIs("open", "MINE A B*", "NEW=B EXTRA=MINE")
		w.listIs("own", "ANY", "")
		w.addItem("closed", "INTRUDER", 5) // this list takes no items of others
		w.seed(twoLists("A B*", "X*", "NEW=B"))
		w.listIs("closed", "intruder(off) X*", "")
	})
	s.test(t, "an operator's default is left alone where the list is open", func(w *world) {
		w.emptyDictionary()
		w.seed(twoLists("A* B", "X* Y", ""))
		w.Exec("UPDATE sys_dict_item SET is_default = 0, default_key = NULL")
		mine := w.addItem("open", "MINE", 5)
		w.Exec("UPDATE sys_dict_item SET is_default = 1, default_key = type_id WHERE id = ? OR item_code = 'Y'", mine)
		w.seed(twoLists("A* B", "X* Y", ""))
		w.listIs("open", "MINE* A B", "")
		w.listIs("closed", "X* Y", "")
		if n := w.seed(twoLists("A* B", "X* Y", "")); n != 0 {
			w.Errorf("%d rows changed the second time", n)
		}
	})
	s.test(t, "an item switched off by an operator stays off and is missed", func(w *world) {
		w.seed(dictionary.All())
		r, err := registry.Resolve(w.Source(), "works", "HARVEST", nil)
		w.Must(err)
		if missed := r.UnknownCodes(w.stored()); len(missed) != 0 {
			w.Errorf("missed:\n%v", missed)
		}
		if n := w.Exec("UPDATE sys_dict_item SET enabled = 0, default_key = NULL WHERE item_code = 'TOKEN' AND type_id = (SELECT id FROM sys_dict_type WHERE type_code = 'pagination_mode')"); n != 1 {
			w.Fatalf("%d items switched off", n)
		}
		if n := w.seed(dictionary.All()); n != 0 {
			w.Errorf("%d rows changed", n)
		}
		missed := r.UnknownCodes(w.stored())
		if len(missed) != 1 || !strings.Contains(missed.Error(), "tiny.yaml:17:13: endpoints.works.paging.type") || !strings.Contains(missed.Error(), "pagination_mode") {
			w.Errorf("missed:\n%v", missed)
		}
	})
	s.test(t, "programs that start together seed once", func(w *world) {
		w.emptyDictionary()
		handles := w.Handles(4)
		w.Together(len(handles), func(i int) error {
			_, err := handles[i].SeedDictionary(w.Ctx, dictionary.All())
			return err
		})
		if got := w.stored(); !reflect.DeepEqual(got, byCode(dictionary.All())) {
			w.Errorf("got\n%+v", got)
		}
	})
	s.test(t, "every code in the tables is in its list", func(w *world) {
		w.seed(dictionary.All())
		w.everyOutcome()
		w.codesAreListed()
	})
}

func lossyDictionary() []lossy {
	return []lossy{
		{"seed dictionary", "seed an empty dictionary", func(w *world) func() (answer, error) {
			w.emptyDictionary()
			return seeding(w, dictionary.All())
		}},
		{"seed dictionary", "seed a changed dictionary", func(w *world) func() (answer, error) {
			w.emptyDictionary()
			w.seed(twoLists("A* B", "X*", "OLD=A"))
			w.Clock.Advance(fixture.Day)
			return seeding(w, twoLists("C* B", "X*", "OLD=B NEW=C"))
		}},
	}
}

func seeding(w *world, types []dictionary.Type) func() (answer, error) {
	return func() (answer, error) {
		_, err := w.Store.SeedDictionary(w.Ctx, types)
		return nil, err
	}
}

func (w *world) seed(types []dictionary.Type) int {
	w.Helper()
	n, err := w.Store.SeedDictionary(w.Ctx, types)
	w.Must(err)
	return n
}

func (w *world) stored() []dictionary.Type {
	w.Helper()
	types, err := w.Store.Dictionary(w.Ctx)
	w.Must(err)
	return types
}

func (w *world) emptyDictionary() {
	w.Helper()
	for _, table := range []string{"sys_dict_item_alias", "sys_dict_item", "sys_dict_type"} {
		w.Exec("DELETE FROM " + table)
	}
}

// addItem is what an operator would do by hand.
func (w *world) addItem(list, code string, order int) (id int64) {
	w.Helper()
	w.Exec(`INSERT INTO sys_dict_item (type_id, item_code, item_name, display_order, created_at, updated_at)
  SELECT id, ?, 'by hand', ?, 1, 1 FROM sys_dict_type WHERE type_code = ?`, code, order, list)
	return w.Number("SELECT id FROM sys_dict_item WHERE item_code = ?", code)
}

// twoLists is a small dictionary: an open list with aliases and a closed one. A
// star marks the default; aliases are written OLD=ITEM.
func twoLists(open, closed, aliases string) []dictionary.Type {
	list := func(code, items string, custom bool) dictionary.Type {
		t := dictionary.Type{Code: code, Name: "List " + code, Custom: custom}
		for _, word := range strings.Fields(items) {
			item, isDefault := strings.CutSuffix(word, "*")
			t.Items = append(t.Items, dictionary.Item{Code: item, Default: isDefault})
		}
		return t
	}
	out := []dictionary.Type{list("open", open, true), list("closed", closed, false)}
	for _, pair := range strings.Fields(aliases) {
		old, item, _ := strings.Cut(pair, "=")
		i := slices.IndexFunc(out[0].Items, func(i dictionary.Item) bool { return i.Code == item })
		out[0].Items[i].Aliases = append(out[0].Items[i].Aliases, dictionary.Alias{System: "before", Code: old})
	}
	return out
}

// listIs compares one stored list, written as for twoLists; an item that is
// switched off is written small.
func (w *world) listIs(code, items, aliases string) {
	w.Helper()
	var gotItems, gotAliases []string
	for _, t := range w.stored() {
		for _, item := range t.Items {
			if t.Code != code {
				continue
			}
			text := item.Code
			if item.Default {
				text += "*"
			}
			if item.Disabled {
				text = strings.ToLower(text) + "(off)"
			}
			gotItems = append(gotItems, text)
			for _, alias := range item.Aliases {
				gotAliases = append(gotAliases, alias.Code+"="+item.Code)
			}
		}
	}
	wantItems, wantAliases := strings.Fields(items), strings.Fields(aliases)
	for _, words := range [][]string{gotItems, gotAliases, wantItems, wantAliases} {
		slices.Sort(words)
	}
	if !slices.Equal(gotItems, wantItems) || !slices.Equal(gotAliases, wantAliases) {
		w.Errorf("list %s is %v with %v, want %v with %v", code, gotItems, gotAliases, wantItems, wantAliases)
	}
}

// byCode sorts a dictionary as the store gives it.
func byCode(types []dictionary.Type) []dictionary.Type {
	slices.SortFunc(types, func(a, b dictionary.Type) int { return cmp.Compare(a.Code, b.Code) })
	for _, t := range types {
		for _, item := range t.Items {
			slices.SortFunc(item.Aliases, func(a, b dictionary.Alias) int {
				return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Code, b.Code))
			})
		}
	}
	return types
}

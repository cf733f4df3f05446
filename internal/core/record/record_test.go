package record

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var t0 = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

func hash(b byte) (h Digest) { h[0] = b; return h }

func TestDecide(t *testing.T) {
	head := func(change func(*Head)) *Head {
		h := &Head{UpdatedAt: t0, ContentHash: hash(1), FetchAt: t0, Version: 1, State: Active, MappingID: 1}
		change(h)
		return h
	}
	same := func(*Head) {}
	in := func(change func(*Incoming)) Incoming {
		i := Incoming{UpdatedAt: t0, ContentHash: hash(1), FetchAt: t0, MappingID: 1}
		change(&i)
		return i
	}
	for name, tc := range map[string]struct {
		stored *Head
		in     Incoming
		want   Action
	}{
		"new":                              {nil, in(func(*Incoming) {}), Insert},
		"unknown and gone":                 {nil, in(func(i *Incoming) { i.Gone = true }), Remove},
		"equal":                            {head(same), in(func(*Incoming) {}), Unchanged},
		"equal content, newer stamp":       {head(same), in(func(i *Incoming) { i.UpdatedAt = t0.Add(1) }), Touch},
		"equal content, older stamp":       {head(same), in(func(i *Incoming) { i.UpdatedAt = t0.Add(-1) }), Unchanged},
		"equal content, new mapping":       {head(same), in(func(i *Incoming) { i.MappingID = 2 }), Unchanged},
		"newer":                            {head(same), in(func(i *Incoming) { i.UpdatedAt = t0.Add(1); i.ContentHash = hash(2) }), Update},
		"older":                            {head(same), in(func(i *Incoming) { i.UpdatedAt = t0.Add(-1); i.ContentHash = hash(2) }), Stale},
		"same stamp, asked later":          {head(same), in(func(i *Incoming) { i.FetchAt = t0.Add(1); i.ContentHash = hash(2) }), Update},
		"same stamp, asked earlier":        {head(same), in(func(i *Incoming) { i.FetchAt = t0.Add(-1); i.ContentHash = hash(2) }), Stale},
		"same stamp, higher version":       {head(func(h *Head) { h.SourceVersion = 3 }), in(func(i *Incoming) { i.SourceVersion = 4; i.FetchAt = t0.Add(-1); i.ContentHash = hash(2) }), Update},
		"same stamp, lower version":        {head(func(h *Head) { h.SourceVersion = 3 }), in(func(i *Incoming) { i.SourceVersion = 2; i.FetchAt = t0.Add(1); i.ContentHash = hash(2) }), Stale},
		"no stamp from source":             {head(func(h *Head) { h.UpdatedAt = time.Time{} }), in(func(i *Incoming) { i.UpdatedAt = time.Time{}; i.FetchAt = t0.Add(1); i.ContentHash = hash(2) }), Update},
		"gone":                             {head(same), in(func(i *Incoming) { i.Gone = true; i.FetchAt = t0.Add(1) }), Remove},
		"gone, but we know newer":          {head(same), in(func(i *Incoming) { i.Gone = true; i.FetchAt = t0.Add(-1) }), Stale},
		"gone twice":                       {head(func(h *Head) { h.State = Gone }), in(func(i *Incoming) { i.Gone = true; i.FetchAt = t0.Add(1) }), Unchanged},
		"back from the dead, same content": {head(func(h *Head) { h.State = Gone }), in(func(i *Incoming) { i.FetchAt = t0.Add(1) }), Update},
	} {
		if got := Decide(tc.stored, tc.in); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

// I3: replaying any set of versions in any order ends with the winner, and the
// stored version never goes back.
func TestDecideNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "versions")
		versions := make([]Incoming, n)
		for i := range versions {
			versions[i] = Incoming{
				UpdatedAt:   t0.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "stamp")) * time.Hour),
				FetchAt:     t0.Add(time.Duration(i) * time.Minute), // asked in this order
				ContentHash: hash(byte(rapid.IntRange(1, 3).Draw(t, "content"))),
			}
		}
		var stored *Head
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 20).Draw(t, "arrival") {
			in := versions[i]
			action := Decide(stored, in)
			if action == Update && !stored.UpdatedAt.Equal(in.UpdatedAt) && in.UpdatedAt.Before(stored.UpdatedAt) {
				t.Fatalf("went back from %v to %v", stored.UpdatedAt, in.UpdatedAt)
			}
			if again := Decide(apply(stored, in, action), in); again != Unchanged && again != Stale {
				t.Fatalf("not idempotent: %s then %s", action, again)
			}
			stored = apply(stored, in, action)
		}
	})
}

func apply(stored *Head, in Incoming, a Action) *Head {
	switch a {
	case Insert, Update:
		return &Head{UpdatedAt: in.UpdatedAt, FetchAt: in.FetchAt, ContentHash: in.ContentHash, State: Active, MappingID: in.MappingID}
	case Touch:
		h := *stored
		h.UpdatedAt = in.UpdatedAt
		return &h
	}
	return stored
}

func TestDedupeKeepsTheWinner(t *testing.T) {
	older := Incoming{ProviderID: "a", UpdatedAt: t0, ContentHash: hash(1)}
	newest := Incoming{ProviderID: "a", UpdatedAt: t0.Add(1), ContentHash: hash(2)}
	other := Incoming{ProviderID: "b", UpdatedAt: t0, ContentHash: hash(3)}
	kept, duplicates := Dedupe([]Incoming{older, other, newest, older})
	if duplicates != 2 || len(kept) != 2 || kept[0].ContentHash != hash(2) || kept[1].ProviderID != "b" {
		t.Fatalf("got %+v and %d duplicates", kept, duplicates)
	}
}

// Dedupe gives what a map gives, in the order of first appearance, and leaves the items
// that it was given as they are.
func TestDedupeAgainstAMap(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) Incoming {
			return Incoming{ProviderID: rapid.StringMatching("[a-f]").Draw(r, "id"), UpdatedAt: t0.Add(time.Duration(rapid.IntRange(0, 3).Draw(r, "at")))}
		}), 0, 12).Draw(r, "items")
		given := slices.Clone(items)
		var order []string
		winner := map[string]Incoming{}
		for _, in := range items {
			held, seen := winner[in.ProviderID]
			if !seen {
				order = append(order, in.ProviderID)
			}
			if !seen || isNewer(headOf(held), in) {
				winner[in.ProviderID] = in
			}
		}
		kept, duplicates := Dedupe(items)
		if len(kept) != len(order) || duplicates != len(items)-len(order) {
			r.Fatalf("%d are kept and %d not, of %d with %d ids", len(kept), duplicates, len(items), len(order))
		}
		for i, id := range order {
			if kept[i].ProviderID != id || !kept[i].UpdatedAt.Equal(winner[id].UpdatedAt) {
				r.Fatalf("%d is %+v, want %+v", i, kept[i], winner[id])
			}
		}
		for i := range given {
			if items[i].ProviderID != given[i].ProviderID || !items[i].UpdatedAt.Equal(given[i].UpdatedAt) {
				r.Fatalf("item %d was changed", i)
			}
		}
	})
}

func TestKeysTellForeignIDsApart(t *testing.T) {
	ids := []string{"10.1/abc", "10.1/ABC", "10.1/abc ", "10.1/ábc", "10.1/abc\x00", "10.1/abc🎉"}
	keys := map[Key]string{}
	for _, id := range ids {
		if other, taken := keys[KeyOf(id)]; taken {
			t.Errorf("%q and %q share a key", id, other)
		}
		keys[KeyOf(id)] = id
	}
	if EventKey("s", "e", "id", 1) == EventKey("s", "e", "id", 2) {
		t.Error("two versions share an event key (I9)")
	}
}

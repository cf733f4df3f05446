package slicing

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func idRequest(target int, c *Candidates) Request {
	return Request{Config: Config{Strategy: IDRange, TargetRecords: target}.WithDefaults(), PageSize: 100, Paging: "TOKEN", Candidates: c}
}

var chosen = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

// Every id is in exactly one slice, those that are no candidates yet as well.
func TestEveryIDIsInOneRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.StringN(1, 8, -1), rapid.ID[string]).Draw(t, "ids")
		others := rapid.SliceOf(rapid.StringN(1, 8, -1)).Draw(t, "others")
		slices.Sort(ids)
		c := &Candidates{Key: "provider_id", Count: int64(len(ids)), AsOf: chosen}
		if rapid.Bool().Draw(t, "sorted") {
			c.IDs = ids
		}
		target := rapid.IntRange(1, 20).Draw(t, "target")
		cut, err := Cut(idRequest(target, c))
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) == 0 {
			if len(cut) != 0 {
				t.Fatalf("%d slices of nothing", len(cut))
			}
			return
		}
		signatures := map[string]bool{}
		for _, s := range cut {
			signatures[s.Spec.Signature("s", "e", "UPDATE", "h")] = true
			held := 0
			for _, id := range ids {
				if s.Spec.Range.Contains(id) {
					held++
				}
			}
			if c.IDs != nil && (held > target || int64(held) != s.Spec.Telemetry.Estimate.Count) {
				t.Fatalf("%+v holds %d ids of at most %d", s.Spec.Range, held, target)
			}
		}
		if len(signatures) != len(cut) {
			t.Fatal("two slices have one signature")
		}
		for _, id := range append(ids, others...) {
			n := 0
			for _, s := range cut {
				if s.Spec.Range.Contains(id) {
					n++
				}
			}
			if n != 1 {
				t.Fatalf("%q is in %d ranges", id, n)
			}
		}
	})
}

func TestBuckets(t *testing.T) {
	for _, c := range []struct {
		count  int64
		target int
		want   int
	}{{0, 10, 0}, {1, 10, 1}, {10, 10, 1}, {11, 10, 2}, {41, 10, 8}, {1000, 10, 128}, {1 << 40, 1, maxBuckets}, {1_000_001, 0, 2}} {
		cut, err := Cut(idRequest(c.target, &Candidates{Key: "id", Count: c.count, AsOf: chosen}))
		if err != nil || len(cut) != c.want {
			t.Errorf("%d by %d: %d buckets, want %d (%v)", c.count, c.target, len(cut), c.want, err)
		}
	}
	cut, err := Cut(idRequest(25, &Candidates{Key: "id", Count: 100, AsOf: chosen}))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, s := range cut {
		got += fmt.Sprintf("[%s,%s)", s.Spec.Range.From, s.Spec.Range.To)
	}
	if got != "[0000,4000)[4000,8000)[8000,c000)[c000,)" {
		t.Error(got)
	}
	raw, _ := json.Marshal(cut[0].Spec)
	var spec map[string]any
	if err := json.Unmarshal(raw, &spec); err != nil || spec["window"] != nil || fmt.Sprint(spec["range"]) != "map[asOf:2025-03-01T00:00:00Z from:0000 key:id kind:HASH_BUCKET to:4000]" {
		t.Errorf("%s", raw)
	}
	later := *cut[0].Spec.Range
	later.AsOf = later.AsOf.Add(time.Hour)
	if (Spec{Range: &later}).Signature("s", "e", "UPDATE", "h") != cut[0].Spec.Signature("s", "e", "UPDATE", "h") {
		t.Error("the as-of changes the signature")
	}
}

func TestBadCandidatesAreRefused(t *testing.T) {
	for name, c := range map[string]*Candidates{
		"none":     nil,
		"unsorted": {Key: "id", IDs: []string{"b", "a"}, AsOf: chosen},
		"twice":    {Key: "id", IDs: []string{"a", "a"}, AsOf: chosen},
		"empty":    {Key: "id", IDs: []string{"", "a"}, AsOf: chosen},
		"no key":   {Count: 1, AsOf: chosen},
		"no as-of": {Key: "id", Count: 1},
	} {
		if _, err := Cut(idRequest(10, c)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, bad := range []Range{
		{"id", "NONSENSE", "", "", chosen}, {"id", ByID, "b", "a", chosen}, {"id", ByID, "a", "a", chosen},
		{"id", HashBucket, "0", "4000", chosen}, {"id", HashBucket, "C000", "", chosen}, {"id", HashBucket, "0000", "10000", chosen},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v accepted", bad)
		}
	}
}

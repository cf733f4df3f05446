package upsim

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTouch(t *testing.T) {
	d := month(nil)
	before := d.Truth()[5]
	at := day("2024-05-05").Add(time.Hour + 300*time.Millisecond)

	if err := d.Touch(strings.ToUpper(before.DOI), at, false); err != nil {
		t.Fatal(err)
	}
	moved, _ := d.Lookup(before.DOI)
	if moved.Version != 1 || !moved.Indexed.Equal(at.Truncate(time.Second)) {
		t.Errorf("re-indexed without change: version %d at %s", moved.Version, moved.Indexed)
	}
	if !bytes.Equal(withoutIndexed(moved.JSON), withoutIndexed(before.JSON)) {
		t.Errorf("content changed:\n%s\n%s", before.JSON, moved.JSON)
	}

	if err := d.Touch(before.DOI, at, true); err != nil {
		t.Fatal(err)
	}
	changed, _ := d.Lookup(before.DOI)
	if changed.Version != 2 || bytes.Equal(withoutIndexed(changed.JSON), withoutIndexed(before.JSON)) {
		t.Errorf("change is not seen: version %d, %s", changed.Version, changed.JSON)
	}
	if !bytes.Contains(changed.JSON, []byte(`"deposited":{"date-parts":[[2024,5,5]],"date-time":"2024-05-05T01:00:00Z"`)) {
		t.Errorf("the change was not deposited: %s", changed.JSON)
	}
	if d.Len() != 31*40 {
		t.Errorf("%d works after touching", d.Len())
	}
	if err := d.Touch("10.5555/nobody", at, true); err == nil {
		t.Error("touched a work that is not there")
	}
}

// withoutIndexed cuts the indexed stamp, which is the first key of a work.
func withoutIndexed(work []byte) []byte {
	return work[bytes.Index(work, []byte(`"reference-count"`)):]
}

func TestAddAndRemove(t *testing.T) {
	d := month(func(c *Config) { c.BadIDEvery = 1 })
	own, err := d.Add("10.5555/My.Own", day("2024-03-10"))
	if err != nil || own != "10.5555/My.Own" {
		t.Fatal(own, err)
	}
	if _, err := d.Add("10.5555/my.own", day("2024-03-11")); err == nil {
		t.Error("the same DOI in another case was added twice")
	}
	chosen, err := d.Add("", day("2030-01-01"))
	if err != nil {
		t.Fatal(err)
	}
	for _, doi := range []string{own, chosen} {
		w, ok := d.Lookup(doi)
		if !ok || w.Bad != Sound || w.DOI != doi || !bytes.Contains(w.JSON, []byte(strings.ReplaceAll(doi, "/", `\/`))) {
			t.Errorf("added %s, found %v %+v", doi, ok, w)
		}
	}
	if d.Len() != 31*40+2 {
		t.Errorf("%d works", d.Len())
	}
	generated := d.Truth()[0].DOI
	for _, doi := range []string{own, chosen, generated} {
		if err := d.Remove(doi); err != nil {
			t.Error(err)
		}
		if _, ok := d.Lookup(doi); ok {
			t.Errorf("%s is still there", doi)
		}
		if err := d.Remove(doi); err == nil {
			t.Errorf("%s was removed twice", doi)
		}
		if _, err := d.Add(doi, day("2024-03-09")); err != nil {
			t.Errorf("add again: %v", err)
		}
	}
	if d.Len() != 31*40+2 {
		t.Errorf("%d works after removing and adding three", d.Len())
	}
}

// Whatever is done to a set, it is what a plain map says it is, and walks that
// began earlier do not notice.
func TestMutationsFollowAPlainMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := NewDataset(Config{Seed: rapid.Uint64().Draw(t, "seed"), From: day("2024-03-01"), To: day("2024-03-04"), PerDay: 5})
		model := map[string]Truth{}
		for h := range d.Heads() {
			model[h.DOI] = h
		}
		old := d.freezeView(anyTimeFrom, anyTimeTo, byIndexedAsc)
		oldItems := slices.Concat(old.days...)
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			at := day("2024-02-28").Add(time.Duration(rapid.IntRange(0, 7*secondsPerDay).Draw(t, "at")) * time.Second)
			dois := make([]string, 0, len(model))
			for doi := range model {
				dois = append(dois, doi)
			}
			slices.Sort(dois)
			step := rapid.SampledFrom([]string{"add", "touch", "change", "remove"}).Draw(t, "step")
			if step == "add" || len(dois) == 0 {
				doi, err := d.Add("", at)
				if err != nil {
					t.Fatal(err)
				}
				model[doi] = Truth{DOI: doi, Indexed: at, Version: 1}
				continue
			}
			doi := rapid.SampledFrom(dois).Draw(t, "doi")
			if step == "remove" {
				if err := d.Remove(doi); err != nil {
					t.Fatal(err)
				}
				delete(model, doi)
				continue
			}
			if err := d.Touch(doi, at, step == "change"); err != nil {
				t.Fatal(err)
			}
			w := model[doi]
			w.Indexed = at
			if step == "change" {
				w.Version++
			}
			model[doi] = w
		}
		var last time.Time
		count := 0
		for h := range d.Heads() {
			want, ok := model[h.DOI]
			if !ok || want.Version != h.Version || !want.Indexed.Equal(h.Indexed) || h.Indexed.Before(last) {
				t.Fatalf("the set has %+v, the map %v %+v", h, ok, want)
			}
			last, count = h.Indexed, count+1
		}
		if count != len(model) || d.Len() != count {
			t.Fatalf("%d works, Len %d, map %d", count, d.Len(), len(model))
		}
		if !slices.Equal(slices.Concat(old.days...), oldItems) {
			t.Fatal("an old snapshot changed")
		}
	})
}

func TestEveryOrderHasEveryWorkOnce(t *testing.T) {
	d := month(nil)
	for _, order := range []ordering{byScore, byIndexedAsc, byIndexedDesc} {
		v := d.freezeView(anyTimeFrom, anyTimeTo, order)
		seen := map[uint32]bool{}
		rising, falling := 0, 0
		for i := range v.total {
			it := v.itemAt(i)
			seen[it.seq] = true
			if i > 0 {
				switch c := byStamp(v.itemAt(i-1), it); {
				case c < 0:
					rising++
				case c > 0:
					falling++
				}
			}
		}
		if len(seen) != d.Len() {
			t.Errorf("order %d shows %d of %d works", order, len(seen), d.Len())
		}
		if order == byIndexedAsc && falling > 0 || order == byIndexedDesc && rising > 0 || order == byScore && (rising < 100 || falling < 100) {
			t.Errorf("order %d: %d steps up, %d down", order, rising, falling)
		}
	}
}

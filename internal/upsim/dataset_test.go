package upsim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func day(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}

// month is the data set most tests use: 31 days, 40 works a day.
func month(change func(*Config)) *Dataset {
	cfg := Config{Seed: 7, From: day("2024-03-01"), To: day("2024-04-01"), PerDay: 40}
	if change != nil {
		change(&cfg)
	}
	return NewDataset(cfg)
}

func TestSameSeedSameBytes(t *testing.T) {
	a, b := month(nil).Truth(), month(nil).Truth()
	other := month(func(c *Config) { c.Seed = 8 })
	if len(a) != len(b) {
		t.Fatalf("two builds of one seed have %d and %d works", len(a), len(b))
	}
	for i := range a {
		if a[i].DOI != b[i].DOI || !a[i].Indexed.Equal(b[i].Indexed) || !bytes.Equal(a[i].JSON, b[i].JSON) {
			t.Fatalf("work %d differs between two builds of one seed:\n%s\n%s", i, a[i].JSON, b[i].JSON)
		}
		if _, shared := other.Lookup(a[i].DOI); shared {
			t.Errorf("the DOI %s is also in the data set of another seed", a[i].DOI)
		}
	}
}

// The bytes of a seed are a promise to whoever wrote down a failing seed.
func TestBytesOfASeedStay(t *testing.T) {
	sum := sha256.New()
	for w := range month(func(c *Config) { c.BadDateEvery = 30 }).All() {
		sum.Write(w.JSON)
	}
	const want = "a561477a299cc6489f3ed4ab01cf3aa58ace88999650f4ae43a09788ccc88ede"
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("the works of seed 7 have the sum %s, had %s", got, want)
	}
}

func TestTotalIsExactAndDaysVary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := time.Unix(rapid.Int64Range(-1e8, 2e9).Draw(t, "from"), 0)
		length := rapid.Int64Range(1, 60*secondsPerDay).Draw(t, "length")
		cfg := Config{
			Seed: rapid.Uint64().Draw(t, "seed"), From: from, To: from.Add(time.Duration(length) * time.Second),
			PerDay: rapid.IntRange(1, 300).Draw(t, "perDay"), Flat: rapid.Bool().Draw(t, "flat"),
		}
		d := NewDataset(cfg)
		want := int((int64(cfg.PerDay)*length + secondsPerDay/2) / secondsPerDay)
		if d.Len() != want {
			t.Fatalf("%d works, want %d", d.Len(), want)
		}
		last, count := time.Time{}, 0
		for h := range d.Heads() {
			if h.Indexed.Before(cfg.From) || !h.Indexed.Before(cfg.To) || h.Indexed.Before(last) {
				t.Fatalf("%s after %s, outside [%s, %s) or out of order", h.Indexed, last, cfg.From, cfg.To)
			}
			last, count = h.Indexed, count+1
		}
		if count != want {
			t.Fatalf("Heads gives %d works, Len says %d", count, want)
		}
	})

	perDay := map[string]int{}
	for h := range NewDataset(Config{Seed: 3, From: day("2024-01-01"), To: day("2024-07-01"), PerDay: 100}).Heads() {
		perDay[h.Indexed.Format(time.DateOnly)]++
	}
	if perDay["2024-01-07"] >= perDay["2024-01-08"] {
		t.Errorf("Sunday %d is not below Monday %d", perDay["2024-01-07"], perDay["2024-01-08"])
	}
	hottest := 0
	for _, n := range perDay {
		hottest = max(hottest, n)
	}
	if hottest < 250 {
		t.Errorf("hottest day has %d works of a mean of 100; no hot day", hottest)
	}
}

func TestWorksAreValidAndVaried(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range month(nil).Truth() {
		if !json.Valid(w.JSON) || !utf8.Valid(w.JSON) {
			t.Fatalf("not valid JSON: %s", w.JSON)
		}
		if bytes.Contains(w.JSON, []byte("//")) {
			t.Fatalf("unescaped slash: %s", w.JSON)
		}
		var got struct {
			DOI     string
			Title   []string
			Indexed struct {
				Parts     [][]int `json:"date-parts"`
				DateTime  string  `json:"date-time"`
				Timestamp int64
			}
		}
		if err := json.Unmarshal(w.JSON, &got); err != nil {
			t.Fatal(err)
		}
		if got.DOI != w.DOI || got.Indexed.DateTime != w.Indexed.Format(time.RFC3339) || got.Indexed.Timestamp != w.Indexed.UnixMilli() {
			t.Fatalf("truth %s %s, served %s %s", w.DOI, w.Indexed, got.DOI, got.Indexed.DateTime)
		}
		if y, m, d := w.Indexed.Date(); got.Indexed.Parts[0][0] != y || got.Indexed.Parts[0][1] != int(m) || got.Indexed.Parts[0][2] != d {
			t.Fatalf("date-parts %v of %s", got.Indexed.Parts, w.Indexed)
		}
		seen["mixed case"] = seen["mixed case"] || strings.ToLower(got.DOI) != got.DOI
		seen["awkward DOI"] = seen["awkward DOI"] || strings.Contains(got.DOI, "<")
		seen["emoji"] = seen["emoji"] || strings.Contains(got.Title[0], "🦉")
		seen["escaped unicode"] = seen["escaped unicode"] || bytes.Contains(w.JSON, []byte(`\u`))
		seen["raw unicode"] = seen["raw unicode"] || len(w.JSON) != utf8.RuneCount(w.JSON)
		seen["no issued date"] = seen["no issued date"] || bytes.Contains(w.JSON, []byte(`"issued":{"date-parts":[[null]]}`))
		seen["escaped slash"] = seen["escaped slash"] || bytes.Contains(w.JSON, []byte(`"DOI":"10.5555\/`))
	}
	if len(seen) != 7 {
		t.Fatalf("looked for %d traits, want 7", len(seen))
	}
	for trait, ok := range seen {
		if !ok {
			t.Errorf("no work with: %s", trait)
		}
	}
}

// Re-indexing alone must leave everything but the stamp as it was, also where
// the stamp is written with more digits than before.
func TestReindexingKeepsPaddedContent(t *testing.T) {
	d := month(func(c *Config) { c.PerDay, c.PayloadBytes = 2, 2000 })
	before := d.Truth()[0]
	if err := d.Touch(before.DOI, time.Date(2030, 12, 31, 23, 59, 59, 0, time.UTC), false); err != nil {
		t.Fatal(err)
	}
	after, _ := d.Lookup(before.DOI)
	content := func(raw []byte) string {
		var work map[string]json.RawMessage
		if err := json.Unmarshal(raw, &work); err != nil {
			t.Fatal(err)
		}
		return string(work["abstract"])
	}
	if content(before.JSON) != content(after.JSON) {
		t.Fatal("the abstract changed with the stamp")
	}
}

func TestPayloadBytes(t *testing.T) {
	for _, size := range []int{2000, 200_000} {
		for _, w := range month(func(c *Config) { c.PerDay, c.PayloadBytes = 2, size }).Truth() {
			if off := len(w.JSON) - size; off < -10 || off > 10 || !json.Valid(w.JSON) {
				t.Fatalf("%d bytes, want about %d", len(w.JSON), size)
			}
		}
	}
}

func TestBadWorks(t *testing.T) {
	d := month(func(c *Config) { c.BadIDEvery, c.BadDateEvery = 10, 15 })
	count := map[string]int{}
	for _, w := range d.Truth() {
		count[w.Bad]++
		var got struct {
			DOI     *string
			Indexed struct {
				DateTime string `json:"date-time"`
			}
		}
		if err := json.Unmarshal(w.JSON, &got); err != nil {
			t.Fatal(err)
		}
		_, err := time.Parse(time.RFC3339, got.Indexed.DateTime)
		if (got.DOI == nil) != (w.Bad == MissingID) || (err != nil) != (w.Bad == BadDate) {
			t.Fatalf("truth says %q, served %s", w.Bad, w.JSON)
		}
	}
	// 1240 works: every 10th, and every 15th that is no 10th.
	if count[MissingID] != 124 || count[BadDate] != 82-41 {
		t.Errorf("bad works %v, want 124 and 41", count)
	}
}

func TestDOICodeGoesThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newDOICode(rapid.Uint64().Draw(t, "seed"))
		seq := rapid.Uint32().Draw(t, "seq")
		doi := c.encodeDOI(seq)
		for _, spelled := range []string{doi, strings.ToLower(doi), strings.ToUpper(doi)} {
			if got, ok := c.decodeDOI(spelled); !ok || got != seq {
				t.Fatalf("%d is %s, back it is %d %v", seq, spelled, got, ok)
			}
		}
		for _, other := range []string{doi + "0", "10.4444" + doi[len(doiPrefix):]} {
			if _, ok := c.decodeDOI(other); ok {
				t.Fatalf("%s is taken for a DOI of the set", other)
			}
		}
	})
}

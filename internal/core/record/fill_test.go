package record

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestFill(t *testing.T) {
	for name, tc := range map[string]struct {
		stored, incoming, want string
		changed                bool
	}{
		"missing":               {`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`, true},
		"null":                  {`{"a":null}`, `{"a":2}`, `{"a":2}`, true},
		"no text":               {`{"a":""}`, `{"a":"x"}`, `{"a":"x"}`, true},
		"blank text":            {`{"a":" \t\u00a0"}`, `{"a":"x"}`, `{"a":"x"}`, true},
		"no elements":           {`{"a":[ ]}`, `{"a":["x"]}`, `{"a":["x"]}`, true},
		"no members":            {`{"a":{ }}`, `{"a":{"x":1}}`, `{"a":{"x":1}}`, true},
		"zero is a value":       {`{"a":0}`, `{"a":5}`, `{"a":0}`, false},
		"false is a value":      {`{"a":false}`, `{"a":true}`, `{"a":false}`, false},
		"a list with null":      {`{"a":[null]}`, `{"a":[1]}`, `{"a":[null]}`, false},
		"other value":           {`{"a":"x"}`, `{"a":"y"}`, `{"a":"x"}`, false},
		"emptied upstream":      {`{"a":"x"}`, `{"a":""}`, `{"a":"x"}`, false},
		"dropped upstream":      {`{"a":"x"}`, `{}`, `{"a":"x"}`, false},
		"empty for empty":       {`{"a":null}`, `{"a":"","b":[]}`, `{"a":null}`, false},
		"inside a value":        {`{"a":{"x":1,"y":null}}`, `{"a":{"y":2}}`, `{"a":{"x":1,"y":null}}`, false},
		"nothing stored":        {``, `{"a":1}`, `{"a":1}`, true},
		"nothing came":          {`{"a":1}`, ``, `{"a":1}`, false},
		"nothing at all":        {``, ``, `{}`, false},
		"another order, spaces": {`{ "b": 1, "a": [1, 2] }`, `{"a":[3]}`, `{"a":[1,2],"b":1}`, false},
		"large numbers":         {`{"a":9007199254740993}`, `{"b":1.0e400}`, `{"a":9007199254740993,"b":1.0e400}`, true},
		"a strange name":        {`{"a":1}`, `{"\u00e9 \"":2}`, "{\"a\":1,\"é \\\"\":2}", true},
		"names twice inside":    {`{"a":{"x":1,"x":2}}`, `{"b":{"y":1,"y":2}}`, `{"a":{"x":1,"x":2},"b":{"y":1,"y":2}}`, true},
	} {
		got, changed, err := Fill([]byte(tc.stored), []byte(tc.incoming))
		if err != nil || string(got) != tc.want || changed != tc.changed {
			t.Errorf("%s: got %s, changed %t, %v; want %s, %t", name, got, changed, err, tc.want, tc.changed)
		}
	}
}

func TestFillRefusesWhatIsNoObject(t *testing.T) {
	for _, bad := range []string{`[]`, `null`, `"x"`, `{`, `{"a"}`, `{"a":1} 2`} {
		if _, _, err := Fill([]byte(bad), []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "stored") {
			t.Errorf("stored %s: %v", bad, err)
		}
		if _, _, err := Fill([]byte(`{}`), []byte(bad)); err == nil || !strings.Contains(err.Error(), "incoming") {
			t.Errorf("incoming %s: %v", bad, err)
		}
	}
}

// someFields draws an object of few names, so that two of them often share one.
func someFields(t *rapid.T, label string) []byte {
	all := map[string]json.RawMessage{}
	for _, name := range []string{"a", "b", "c", "ü", "\U0001F600", "\uFB33"} {
		value := rapid.SampledFrom([]string{``, `null`, `""`, `" "`, `[]`, `{}`, `0`, `false`, `1`, `"x"`, `"y"`, `[1]`, `{"z":1,"y":[]}`, `12345678901234567890`}).Draw(t, label)
		if value != "" {
			all[name] = json.RawMessage(value)
		}
	}
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func fill(t *rapid.T, stored, incoming []byte) ([]byte, bool) {
	t.Helper()
	merged, changed, err := Fill(stored, incoming)
	if err != nil {
		t.Fatal(err)
	}
	return merged, changed
}

func parts(t *rapid.T, raw []byte) map[string]jsontext.Value {
	t.Helper()
	all, _, err := splitMembers(raw)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFillObeysItsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stored, one, other := someFields(t, "stored"), someFields(t, "one"), someFields(t, "other")
		merged, changed := fill(t, stored, one)

		before, offered, after := parts(t, stored), parts(t, one), parts(t, merged)
		for name, value := range before {
			if !isEmpty(value) && !bytes.Equal(value, after[name]) {
				t.Fatalf("lost %s: %s became %s", name, value, after[name])
			}
		}
		for name, value := range after {
			if !bytes.Equal(value, before[name]) && (!bytes.Equal(value, offered[name]) || isEmpty(value)) {
				t.Fatalf("%s became %s, from nowhere", name, value)
			}
		}
		for name, value := range offered {
			if !isEmpty(value) && isEmpty(after[name]) {
				t.Fatalf("%s is still empty", name)
			}
		}
		if _, canonical, _ := splitMembers(stored); changed == bytes.Equal(merged, canonical) {
			t.Fatalf("%s became %s, said to have changed: %t", canonical, merged, changed)
		}
		if _, canonical, _ := splitMembers(merged); !bytes.Equal(merged, canonical) {
			t.Fatalf("not canonical: %s", merged)
		}
		if again, changed := fill(t, merged, one); changed || !bytes.Equal(again, merged) {
			t.Fatalf("not idempotent: %s then %s", merged, again)
		}
		// How items are grouped does not matter, nor, but for names both have, their order.
		left, _ := fill(t, merged, other)
		both, _ := fill(t, one, other)
		if right, _ := fill(t, stored, both); !bytes.Equal(left, right) {
			t.Fatalf("one after the other gives %s, both at once %s", left, right)
		}
		turned, _ := fill(t, stored, other)
		turned, _ = fill(t, turned, one)
		if slices.Compare(valued(t, left), valued(t, turned)) != 0 {
			t.Fatalf("%s in one order, %s in the other", left, turned)
		}
		if again, changed := fill(t, left, one); changed {
			t.Fatalf("an item that was there before fills again: %s then %s", left, again)
		}
	})
}

func valued(t *rapid.T, raw []byte) (names []string) {
	for name, value := range parts(t, raw) {
		if !isEmpty(value) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestFills(t *testing.T) {
	head := Head{UpdatedAt: t0, ContentHash: hash(1), FetchAt: t0, State: Active}
	changed := Incoming{UpdatedAt: t0.Add(1), ContentHash: hash(2), FetchAt: t0.Add(1), FillOnly: true}
	for name, tc := range map[string]struct {
		change func(*Head, *Incoming)
		want   bool
	}{
		"newer item":    {func(*Head, *Incoming) {}, true},
		"not declared":  {func(_ *Head, in *Incoming) { in.FillOnly = false }, false},
		"older item":    {func(_ *Head, in *Incoming) { in.UpdatedAt = t0.Add(-1) }, false},
		"the same item": {func(_ *Head, in *Incoming) { in.ContentHash = hash(1) }, false},
		"gone now":      {func(_ *Head, in *Incoming) { in.Gone = true }, false},
		"back":          {func(h *Head, _ *Incoming) { h.State = Gone }, false},
	} {
		h, in := head, changed
		tc.change(&h, &in)
		if got := Fills(&h, in); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if Fills(nil, changed) {
		t.Error("a record that is not stored is filled")
	}
}

// What whole items do is as if nothing had been filled in between: a fill hides
// no item that comes later (I2), and whole versions never go back (I3).
func TestFillsHideNoWholeItem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var with, without store
		var fields []byte
		for range rapid.IntRange(1, 20).Draw(t, "items") {
			in := Incoming{
				UpdatedAt: t0.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "stamp")) * time.Hour), FetchAt: t0.Add(time.Duration(rapid.IntRange(0, 9).Draw(t, "asked")) * time.Minute),
				ContentHash: hash(byte(rapid.IntRange(1, 3).Draw(t, "content"))), Gone: rapid.IntRange(0, 9).Draw(t, "gone") == 0,
				FillOnly: rapid.Bool().Draw(t, "fill only"), Fields: someFields(t, "fields"),
			}
			if Fills(with.head, in) {
				filled, _ := fill(t, fields, in.Fields)
				if again, changed := fill(t, filled, in.Fields); changed {
					t.Fatalf("the same item fills twice: %s then %s", filled, again)
				}
				fields = filled
				continue // the head stays
			}
			got, want := with.take(in), without.take(in)
			if got != want {
				t.Fatalf("%s after fills, %s without", got, want)
			}
			if got == Insert || got == Update {
				fields = in.Fields
			}
		}
	})
}

// Among items of one page the newest counts, also where it may only fill: the
// others are older versions of the same item (I3).
func TestDedupeBeforeFilling(t *testing.T) {
	older := Incoming{ProviderID: "a", UpdatedAt: t0, Fields: []byte(`{"abstract":"old"}`), FillOnly: true}
	newer := Incoming{ProviderID: "a", UpdatedAt: t0.Add(1), Fields: []byte(`{"title":"new"}`), FillOnly: true}
	for _, page := range [][]Incoming{{older, newer}, {newer, older}} {
		kept, duplicates := Dedupe(page)
		if duplicates != 1 || len(kept) != 1 || string(kept[0].Fields) != `{"title":"new"}` || !kept[0].FillOnly {
			t.Errorf("kept %+v, %d duplicates", kept, duplicates)
		}
	}
}

func FuzzFill(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"a":null}`, `{"a":{"x":1,"x":2}}`, "{\"\xff\":\"\xfe\"}", `{"a":1e999,"A":[[]]}`, `{"a":1,"a":2}`} {
		f.Add([]byte(s), []byte(`{"a":"x"}`))
		f.Add([]byte(`{"b":""}`), []byte(s))
	}
	f.Fuzz(func(t *testing.T, stored, incoming []byte) {
		merged, changed, err := Fill(stored, incoming)
		if err != nil {
			return
		}
		again, twice, err := Fill(merged, incoming)
		if err != nil || twice || !bytes.Equal(again, merged) {
			t.Fatalf("%s and %s give %s (changed %t), then %s (changed %t), %v", stored, incoming, merged, changed, again, twice, err)
		}
	})
}

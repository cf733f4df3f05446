package upsim

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// bent is a walk of a form by pages of ten over 45 works, with a fault script.
type bent struct {
	plainClient
	d     *Dataset
	truth []string
	form  string
}

func bend(t *testing.T, form, faults string) bent {
	t.Helper()
	d := NewDataset(Config{Seed: 3, From: day("2024-03-01"), To: day("2024-03-02"), PerDay: 45, Flat: true})
	s := serve(t, d, Options{Faults: script(t, faults)})
	b := bent{plainClient{TB: t, s: s, size: 10, tolerant: true}, d, nil, form}
	b.truth = idsOf(plainClient{TB: t, s: serve(t, d, Options{}), size: 45}.walk(form, b.window()))
	if len(b.truth) != 45 {
		t.Fatalf("%d works", len(b.truth))
	}
	return b
}

func (b bent) window() map[string][]string { return within(day("2024-03-01"), day("2024-03-03")) }

func (b bent) ids() []string { b.Helper(); return idsOf(b.walk(b.form, b.window())) }

func (b bent) applied(t *testing.T, kind FaultKind) {
	t.Helper()
	for _, e := range b.s.Log() {
		if e.Fault == string(kind) {
			return
		}
	}
	t.Errorf("%s: %s was not applied", b.form, kind)
}

// What each bent list gives, by places in the true list.
func TestFormFaults(t *testing.T) {
	leading := []string{"token", "token-same", "token-header", "token-body", "links", "links-relative", "links-header"}
	counting := []string{"offset", "page", "page0", "more", "search", "search-xml"}
	all := slices.Concat(leading, counting)
	tests := []struct {
		faults string
		kind   FaultKind
		forms  []string
		want   [][2]int // stretches of the true list, half-open
	}{
		{"duplicate-page@page:3", FaultDuplicatePage, all, [][2]int{{0, 20}, {10, 20}, {30, 45}}},
		{"lost-next@page:2", FaultLostNext, slices.Concat(leading, []string{"more"}), [][2]int{{0, 20}}},
		{"short-page@page:2:times=1", FaultShortPage, slices.Concat(leading, []string{"offset", "more", "search"}), [][2]int{{0, 45}}},
		{"short-page@page:2", FaultShortPage, []string{"page", "page0"}, [][2]int{{0, 15}, {20, 45}}},
		{"empty-page@page:2", FaultEmptyPage, []string{"token", "links", "links-header", "token-body"}, [][2]int{{0, 45}}},
		{"total-falling@*:total=3", FaultTotalFalling, []string{"offset"}, [][2]int{{0, 40}}},
		{"total-wrong@*:total=20", FaultTotalWrong, []string{"offset"}, [][2]int{{0, 20}}},
		{"token-loop@page:4:times=1:back=2", FaultTokenLoop, leading, [][2]int{{0, 40}, {10, 45}}},
	}
	for _, tt := range tests {
		for _, form := range tt.forms {
			b := bend(t, form, tt.faults)
			var want []string
			for _, stretch := range tt.want {
				want = append(want, b.truth[stretch[0]:stretch[1]]...)
			}
			if form == "token-same" && strings.HasPrefix(tt.faults, "short-page") {
				want = b.truth[:15] // where the token never ends, a short page is the end
			}
			if got := b.ids(); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v", form, tt.faults, places(b.truth, got))
			}
			b.applied(t, tt.kind)
		}
	}
}

func places(truth, got []string) (at []int) {
	for _, id := range got {
		at = append(at, slices.Index(truth, id))
	}
	return at
}

// A work comes in or goes at the front between page 2 and 3: the list moves by
// one place under whoever counts.
func TestPageShift(t *testing.T) {
	for _, form := range []string{"offset", "page", "more", "search", "token", "token-same", "token-body", "links"} {
		b := bend(t, form, "shift-remove@page:3:times=1")
		// The walk is at place 20 of a list without its first: the twenty-first is lost.
		if got := b.ids(); !slices.Equal(got, slices.Concat(b.truth[:20], b.truth[21:])) || b.d.Len() != 44 {
			t.Errorf("%s: a work taken out: %v", form, places(b.truth, got))
		}
		b = bend(t, form, "shift-insert@page:3:times=1")
		// The last of page 2 comes again, and the new one is not seen.
		if got := b.ids(); !slices.Equal(got, slices.Concat(b.truth[:20], b.truth[19:])) || b.d.Len() != 46 {
			t.Errorf("%s: a work put in: %v", form, places(b.truth, got))
		}
		b.applied(t, FaultShiftInsert)
	}
	// A key does not move.
	for _, form := range []string{"keyset", "keyset-stamp"} {
		b := bend(t, form, "shift-remove@page:3:times=1;shift-insert@page:4:times=1")
		if got := b.ids(); !slices.Equal(got, b.truth) || b.d.Len() != 45 {
			t.Errorf("%s: %v", form, places(b.truth, got))
		}
		b.applied(t, FaultShiftInsert)
	}
}

func TestExpiredTokens(t *testing.T) {
	for text, status := range map[string]int{"": 404, ":status=400": 400, ":status=410": 410, ":status=200": 200} {
		for _, form := range []string{"token", "token-same", "token-header", "token-body", "links", "links-header"} {
			b := bend(t, form, "expire-cursor@page:2"+text)
			first := b.step(form, b.window(), nil, 0)
			for range 2 { // for good
				if got := b.step(form, b.window(), &first, 10); got.status != status || got.Error.Code != "token-not-valid" {
					t.Errorf("%s%s: %d %s", form, text, got.status, got.raw)
				}
			}
			if got := len(b.ids()); got != 10 {
				t.Errorf("%s: a new walk expires too, and gave %d", form, got)
			}
		}
	}
	b := bend(t, "offset", "expire-cursor@*")
	if got := b.ids(); len(got) != 45 {
		t.Errorf("a list without tokens expired after %d", len(got))
	}
}

func TestRepeatLast(t *testing.T) {
	for _, form := range []string{"offset", "page", "search"} {
		b := bend(t, form, "repeat-last@*")
		got := b.get(form, b.window(), map[string][]string{"offset": {"offset", "50"}, "search": {"offset", "50"}, "page": {"page", "6"}}[form]...)
		if ids := idsOf([]formReply{got}); !slices.Equal(ids, b.truth[40:]) {
			t.Errorf("%s: %v", form, places(b.truth, ids))
		}
	}
}

func TestTotals(t *testing.T) {
	b := bend(t, "token", "total-missing@page:2;total-wrong@page:3;total-falling@page:4")
	var totals []int
	for _, r := range b.walk(b.form, b.window()) {
		if r.Total == nil {
			totals = append(totals, -1)
		} else {
			totals = append(totals, *r.Total)
		}
	}
	if !slices.Equal(totals, []int{45, -1, 0, 42, 45}) {
		t.Errorf("%v", totals)
	}
}

// The kinds of /works do the same to forms.
func TestCommonFaultsOnForms(t *testing.T) {
	b := bend(t, "token", "429@1:retry-after=7;500@2;html-200@3;error-200@4;empty-200@5;broken-json@6;missing-id@7;bad-date@8")
	for n, want := range []struct {
		status int
		what   func(formReply) bool
	}{
		{429, func(r formReply) bool { return r.header.Get("Retry-After") == "7" }},
		{500, func(r formReply) bool { return bytes.HasPrefix(r.raw, []byte("<html>")) }},
		{200, func(r formReply) bool { return bytes.HasPrefix(r.raw, []byte("<html>")) }},
		{200, func(r formReply) bool { return r.Error.Code == "index-failure" }},
		{200, func(r formReply) bool { return *r.Total == 0 && r.Items != nil && len(r.Items) == 0 && r.Next == "" }},
		{200, func(r formReply) bool { return !json.Valid(r.raw) && bytes.HasPrefix(r.raw, []byte(`{"total":45`)) }},
		{200, func(r formReply) bool {
			return slices.ContainsFunc(r.Items, func(i formItem) bool { return i.ID == "" })
		}},
		{200, func(r formReply) bool { return slices.ContainsFunc(r.Items, badStamp) }},
		{200, func(r formReply) bool { return len(r.Items) == 10 && r.Next != "" }},
	} {
		if got := b.get("token", b.window()); got.status != want.status || !want.what(got) {
			t.Errorf("request %d: %d %s", n+1, got.status, got.raw)
		}
	}
	if a := b.s.Altered(); len(a) != 2 || a[0].Bad != MissingID || a[1].Bad != BadDate {
		t.Errorf("%+v", a)
	}
}

func badStamp(i formItem) bool {
	_, err := time.Parse(time.RFC3339, i.Updated)
	return err != nil
}

// One poisoned id spoils every batch that names it, and no other.
func TestPoisonedBatch(t *testing.T) {
	b := bend(t, "search", "")
	poison, batch := b.truth[7], func(ids []string) formReply {
		return b.send("GET", b.s.URL()+"/forms/records?"+query("ids", strings.Join(ids, ",")).Encode(), nil, nil)
	}
	for _, kind := range []FaultKind{Fault500, FaultBrokenJSON} {
		if err := b.s.SetFaults([]Fault{{Kind: kind, ID: poison}}); err != nil {
			t.Fatal(err)
		}
		if got := batch(b.truth[:8]); json.Valid(got.raw) || got.status != map[FaultKind]int{Fault500: 500, FaultBrokenJSON: 200}[kind] {
			t.Errorf("%s: %d %s", kind, got.status, got.raw)
		}
		if got := batch(b.truth[:7]); got.status != http.StatusOK || len(got.Items) != 7 {
			t.Errorf("%s without the id: %d %s", kind, got.status, got.raw)
		}
	}
	if err := b.s.SetFaults([]Fault{{Kind: FaultWithhold, ID: poison}}); err != nil {
		t.Fatal(err)
	}
	if got := batch(b.truth[:8]); len(got.Items) != 7 || got.status != http.StatusOK {
		t.Errorf("withheld: %s", got.raw)
	}
}

// A lost answer costs a page only where the server keeps the position.
func TestLostAnswerOfAForm(t *testing.T) {
	for form, moved := range map[string]bool{"token": false, "token-same": true} {
		b := bend(t, form, "500@page:2:times=1:advance=true")
		first := b.step(form, b.window(), nil, 0)
		if got := b.step(form, b.window(), &first, 10); got.status != 500 {
			t.Fatal(got.status)
		}
		again := b.step(form, b.window(), &first, 10)
		if got := again.Items[0].ID == b.truth[20]; got != moved {
			t.Errorf("%s: the walk moved on is %v", form, got)
		}
	}
}

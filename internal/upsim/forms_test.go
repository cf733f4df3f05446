package upsim

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func lists() (names []string) {
	for _, f := range allForms() {
		if f.how != byRecords {
			names = append(names, f.name)
		}
	}
	return names
}

// inWindow is what a list must give, by id.
func inWindow(d *Dataset, from, until time.Time) map[string]formItem {
	out := map[string]formItem{}
	for h := range d.Heads() {
		if !h.Indexed.Before(from) && h.Indexed.Before(until) {
			it, _ := d.lookUpDOI(h.DOI)
			out[h.DOI] = formItem{h.DOI, h.Indexed.Format(time.RFC3339), d.formTitle(it), h.Version, ""}
		}
	}
	return out
}

// read gives all whole records of a list, in two steps where it has two.
func (c plainClient) read(form string, window url.Values) []formItem {
	c.Helper()
	replies := c.walk(form, window)
	if detail, isSearch := strings.CutPrefix(form, "search"); isSearch {
		return c.fetch("records"+detail, idsOf(replies))
	}
	return itemsOf(replies)
}

// A plain walk of every form gives each work of the window once, as it is:
// nothing, less than a page, exactly some pages, and pages with a rest.
func TestEveryFormGivesTheTruth(t *testing.T) {
	d := month(nil)
	for _, w := range d.Truth()[:90] {
		if err := d.Touch(w.DOI, w.Indexed.Add(49*time.Hour), true); err != nil {
			t.Fatal(err)
		}
	}
	truth := d.Truth()
	s := serve(t, d, Options{Forms: FormOptions{MaxIDs: 50}})
	from, nothing := truth[100].Indexed, truth[0].Indexed.Add(-time.Hour)
	until := truth[220].Indexed.Add(time.Second)
	want := inWindow(d, from, until)
	for _, form := range lists() {
		for _, size := range []int{7, len(want), len(want) + 1, len(want) - 1} {
			if form == "time" && size < 20 {
				size = 20 // several works may share a second
			}
			c := plainClient{TB: t, s: s, size: size}
			got := c.read(form, within(from, until))
			if len(got) != len(want) {
				t.Errorf("%s by %d: %d items, want %d", form, size, len(got), len(want))
			}
			for _, it := range got {
				if want[it.ID] != it {
					t.Errorf("%s by %d: %+v, want %+v", form, size, it, want[it.ID])
				}
			}
		}
		c := plainClient{TB: t, s: s, size: 7}
		if got := c.walk(form, within(nothing, nothing.Add(time.Minute))); len(idsOf(got)) != 0 || len(got) != 1 {
			t.Errorf("%s: an empty window gave %d items on %d pages", form, len(idsOf(got)), len(got))
		}
	}
}

func TestExactMultiple(t *testing.T) {
	d := month(nil)
	truth := d.Truth()
	s := serve(t, d, Options{})
	c := plainClient{TB: t, s: s, size: 10}
	// The last page is full; who goes by short pages asks once more.
	extra := []string{"offset-blind", "token-same", "keyset", "keyset-stamp"}
	window := within(truth[0].Indexed, truth[30].Indexed)
	if truth[29].Indexed.Equal(truth[30].Indexed) {
		t.Fatal("the data does not fit the test")
	}
	for _, form := range lists() {
		if form == "time" {
			continue
		}
		pages := 3
		if slices.Contains(extra, form) {
			pages++
		}
		if got := c.walk(form, window); len(got) != pages || len(idsOf(got)) != 30 {
			t.Errorf("%s: %d items on %d pages, want 30 on %d", form, len(idsOf(got)), len(got), pages)
		}
	}
}

func TestBoundsOfTheWindow(t *testing.T) {
	d := month(nil)
	at := d.Truth()[5].Indexed
	text := at.Format(time.RFC3339)
	c := plainClient{TB: t, s: serve(t, d, Options{}), size: 50}
	if got := c.get("offset", query("from", text, "until", text)); *got.Total != 0 {
		t.Error("until is included")
	}
	if got := c.get("offset", query("from", text, "through", text)); *got.Total == 0 || got.Items[0].Updated != text {
		t.Errorf("through is not included: %s", got.raw)
	}
	if got := c.get("offset", query("from", "2024-03-03T12:00:00+02:00", "until", "2024-03-03T10:00:00Z")); *got.Total != 0 {
		t.Error("the zone of a bound is not heard")
	}
}

func TestFormsRefuse(t *testing.T) {
	s := serve(t, month(nil), Options{Forms: FormOptions{MaxIDs: 2, MaxSize: 30}})
	c := plainClient{TB: t, s: s, size: 10, tolerant: true}
	for _, tt := range []struct {
		form, code string
		params     url.Values
	}{
		{"offset", "parameter-not-allowed", query("ofset", "3")},
		{"offset", "parameter-not-allowed", query("token", "3")},
		{"offset", "parameter-conflict", query("limit", "3")},
		{"offset", "integer-not-valid", query("offset", "-1")},
		{"offset", "integer-not-valid", query("size", "31")},
		{"offset", "integer-not-valid", query("size", "0")},
		{"offset", "date-not-valid", query("from", "2024-03-01")},
		{"offset", "date-not-valid", query("from", "2024-03-01T00:00:00.5Z")},
		{"offset", "parameter-conflict", query("until", "2024-03-01T00:00:00Z", "through", "2024-03-01T00:00:00Z")},
		{"page", "integer-not-valid", query("page", "0")},
		{"token", "token-not-valid", query("token", "AAAA")},
		{"token-header", "parameter-not-allowed", query("token", "AAAA")},
		{"token-body", "method-not-valid", nil},
		{"keyset-stamp", "parameter-missing", query("after_id", "a")},
	} {
		if got := c.get(tt.form, tt.params); got.status != http.StatusBadRequest || got.Error.Code != tt.code {
			t.Errorf("%s %v: %d %s, want %s", tt.form, tt.params, got.status, got.raw, tt.code)
		}
	}
	for ids, code := range map[string]string{"": "parameter-missing", "a,b,c": "ids-too-many"} {
		if got := c.send("GET", s.URL()+"/forms/records?ids="+ids, nil, nil); got.Error.Code != code {
			t.Errorf("ids %q: %s", ids, got.raw)
		}
	}
	if got := c.send("GET", s.URL()+"/forms/nonsense", nil, nil); got.status != http.StatusNotFound {
		t.Errorf("an unknown form: %d", got.status)
	}
	if got := c.send("DELETE", s.URL()+"/forms/offset", nil, nil); got.status != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: %d", got.status)
	}
}

func TestLargePagesCutQuietly(t *testing.T) {
	c := plainClient{TB: t, s: serve(t, month(nil), Options{Forms: FormOptions{MaxSize: 30, CutSize: true}}), size: 100}
	if got := c.get("offset", nil); len(got.Items) != 30 {
		t.Errorf("%d items", len(got.Items))
	}
}

func TestCap(t *testing.T) {
	d := month(nil)
	truth := d.Truth()[:150]
	window := within(truth[0].Indexed, truth[149].Indexed.Add(time.Second))
	for how, want := range map[CapAnswer]struct {
		status int
		code   string
	}{CapSilent: {200, ""}, CapError: {400, "too-deep"}, CapError200: {200, "too-deep"}} {
		s := serve(t, d, Options{Forms: FormOptions{Cap: 95, CapAnswer: how}})
		c := plainClient{TB: t, s: s, size: 10, tolerant: true}
		for _, form := range []string{"offset", "search"} {
			at95 := c.get(form, window, "offset", "95")
			if *c.get(form, window, "offset", "90").Total != len(truth) || at95.status != want.status || at95.Error.Code != want.code || len(idsOf([]formReply{at95})) != 0 {
				t.Errorf("%s: %d %s", form, at95.status, at95.raw)
			}
		}
		if got := len(c.get("page", window, "page", "10").Items); got != 5 {
			t.Errorf("the last page has %d items", got)
		}
		for _, form := range []string{"token", "links", "more"} {
			if got := len(idsOf(c.walk(form, window))); got != 95 {
				t.Errorf("%s gave %d items", form, got)
			}
		}
		for _, form := range []string{"keyset", "keyset-stamp"} {
			if got := len(idsOf(c.walk(form, window))); got != len(truth) {
				t.Errorf("%s gave %d items of %d", form, got, len(truth))
			}
		}
	}
}

func TestRecords(t *testing.T) {
	d := month(func(c *Config) { c.BadIDEvery, c.BadDateEvery = 7, 5 })
	truth := d.Truth()
	ids := truth[0].DOI + ",10.5555/nobody," + truth[1].DOI + "," + truth[0].DOI
	c := plainClient{TB: t, s: serve(t, d, Options{}), size: 5}
	if got := c.send("GET", c.s.URL()+"/forms/records?"+query("ids", ids).Encode(), nil, nil); len(got.Items) != 2 || got.Missing != nil {
		t.Errorf("%s", got.raw)
	}
	c.s = serve(t, d, Options{Forms: FormOptions{ListMissing: true}})
	for _, form := range []string{"records", "records-xml"} {
		got := c.send("GET", c.s.URL()+"/forms/"+form+"?"+query("ids", ids).Encode(), nil, nil)
		if len(got.Items) != 2 || !slices.Equal(got.Missing, []string{"10.5555/nobody"}) {
			t.Errorf("%s: %s", form, got.raw)
		}
	}
	for _, w := range truth[:40] {
		it := c.fetch("records", []string{w.DOI})[0]
		if broken := it.ID == ""; broken != (w.Bad == MissingID) || it.Updated != w.Indexed.Format(time.RFC3339) != (w.Bad == BadDate) {
			t.Errorf("%s is %q: %+v", w.DOI, w.Bad, it)
		}
	}
}

// A walk by token reads the moment it began; whoever counts does not.
func TestChangingData(t *testing.T) {
	for form, whole := range map[string]bool{"token": true, "links": true, "offset": false, "page": false} {
		d := month(nil)
		truth := d.Truth()
		window := within(truth[0].Indexed, truth[len(truth)-1].Indexed.Add(time.Second))
		s := serve(t, d, Options{Forms: FormOptions{Changing: Changing{Every: 2, Times: 12, Change: true}}})
		ids := idsOf(plainClient{TB: t, s: s, size: 40}.walk(form, window))
		slices.Sort(ids)
		if got := len(slices.Compact(ids)) == len(truth); got != whole {
			t.Errorf("%s: all of the window is %v, want %v", form, got, whole)
		}
		moved := 0
		for h := range d.Heads() {
			if !h.Indexed.Before(d.cfg.To) && h.Version == 2 {
				moved++
			}
		}
		if moved != 12 {
			t.Errorf("%s: %d works moved", form, moved)
		}
	}
}

// A token that nobody gave out leads nowhere, and parameters are logged wherever
// they travelled.
func TestAlteredTokens(t *testing.T) {
	c := plainClient{TB: t, s: serve(t, month(nil), Options{}), size: 10, tolerant: true}
	first := c.post("token-body", nil, "")
	for i := range first.Next {
		altered := []byte(first.Next)
		altered[i] ^= 1
		if got := c.post("token-body", nil, string(altered)); got.status != http.StatusBadRequest {
			t.Errorf("place %d: %d %s", i, got.status, got.raw)
		}
	}
	if e := c.s.Log()[1]; len(e.Query) != 0 || e.Params.Get("size") != "10" || len(e.Params.Get("token")) != len(first.Next) {
		t.Errorf("%+v", e)
	}
}

func TestTokensRestOnlySoLong(t *testing.T) {
	s := serve(t, month(nil), Options{CursorLife: time.Nanosecond})
	c := plainClient{TB: t, s: s, size: 10, tolerant: true}
	first := c.get("token", nil)
	if got := c.get("token", nil, "token", first.Next); got.status != http.StatusBadRequest || got.Error.Code != "token-not-valid" {
		t.Errorf("%d %s", got.status, got.raw)
	}
}

package extract_test

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/extract"
)

// Where the whole answer is the item, an object that emptyWhen holds of and that has no id is none: with a status that says so, and
// without. One that has an id is an item, whatever it says beside.
func TestOneObjectMaySayThatNothingIsThere(t *testing.T) {
	c := extract.Config{
		Items: pathTo(t, "$"), Single: true, ID: selectorOf(t, "$.doi"), EmptyStatus: []int{404},
		EmptyWhen: []extract.Predicate{{Selector: selectorOf(t, "$.error")}},
	}
	r, err := extract.Compile(c.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]bool{
		`{"error": true, "message": "unknown"}`: true,
		`{"error": true, "doi": "10.1/a"}`:      false,
		`{"error": false}`:                      false,
		`{"message": "no route"}`:               false,
		`[]`:                                    false,
		`<html>404</html>`:                      false,
	} {
		if got := r.ConfirmsEmpty(404, []byte(body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
		if page, err := r.Read([]byte(body), extract.Asked{}); want && (err != nil || page.Seen != 0 || page.EmptyBy == "") || !want && err == nil && page.Seen == 0 {
			t.Errorf("%s: %+v, %v", body, page, err)
		}
	}
}

// A status means that nothing was found only if it is declared and the body confirms it.
func TestOnlyABodyConfirmsThatNothingIsThere(t *testing.T) {
	c := extract.Config{
		Items: pathTo(t, "$.works"), ID: selectorOf(t, "$.id"), EmptyStatus: []int{404},
		EmptyWhen: []extract.Predicate{{Selector: selectorOf(t, "${jsonPath('$.code') == 'NO_RECORDS'}")}},
		RetryWhen: []extract.Predicate{{Selector: selectorOf(t, "$.busy")}},
	}
	r, err := extract.Compile(c.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]bool{
		`{"code":"NO_RECORDS"}`:                      true,
		`{"code":"NO_RECORDS","works":[]}`:           true,
		`{"code":"NOT_FOUND"}`:                       false,
		`{"code":"NO_RECORDS","works":[{"id":"a"}]}`: false,
		`{"code":"NO_RECORDS","busy":true}`:          false,
		`<html><body>404 NO_RECORDS</body></html>`:   false,
		``: false,
	} {
		if got := r.ConfirmsEmpty(404, []byte(body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
		if r.ConfirmsEmpty(410, []byte(body)) {
			t.Errorf("%s: a status that is not declared", body)
		}
	}
	c.EmptyWhen = nil
	if r, err = extract.Compile(c.WithDefaults()); err != nil || r.ConfirmsEmpty(404, []byte(`{"code":"NO_RECORDS"}`)) {
		t.Errorf("nothing confirms it: %v", err)
	}
}

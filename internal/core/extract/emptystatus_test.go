package extract_test

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/extract"
)

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

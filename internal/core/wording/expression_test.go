package wording

import (
	"encoding/json"
	"testing"
)

func TestExprText(t *testing.T) {
	for stored, want := range map[string]string{
		`{"selection":"x","where":{"type":"CONST","value":true}}`: "true",
		`{"selection":"x","where":{"type":"NEWER"}}`:              `{"selection":"x","where":{"type":"NEWER"}}`,
		`{"all":[]}`: `{"all":[]}`,
		`not JSON`:   "not JSON",
		"":           "-",
	} {
		if got := ExpressionText(json.RawMessage(stored)); got != want {
			t.Errorf("%s: %s, want %s", stored, got, want)
		}
	}
}

package transport

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// agreeing agrees to one use.
type agreeing struct {
	vault
	to  trust.Use
	err error
}

func (a agreeing) MaySend(_ context.Context, u trust.Use) error {
	if a.err != nil || u == a.to {
		return a.err
	}
	return &trust.Refusal{Use: u, Why: trust.NotAgreed}
}

// countingSender counts what leaves.
type countingSender struct{ sent *int }

func (s countingSender) Send(context.Context, *exchange.Request) (*exchange.Response, error) {
	*s.sent++
	return &exchange.Response{Status: 200}, nil
}

// A request that sends something of stored records leaves for a host that was agreed to, and for no other; where nobody can be
// asked, it does not leave either.
func TestStoredRecordsLeaveWithConsentOnly(t *testing.T) {
	agreed, broken := trust.Use{Ref: trust.OfRecords("hub/repos"), Host: "api.example.org"}, errors.New("no database")
	for name, of := range map[string]struct {
		secrets Secrets
		address string
		records string
		leaves  bool
	}{
		"agreed":         {agreeing{to: agreed}, "https://api.example.org/x", "hub/repos", true},
		"other host":     {agreeing{to: agreed}, "https://other.example.org/x", "hub/repos", false},
		"in the clear":   {agreeing{to: agreed}, "http://api.example.org/x", "hub/repos", false},
		"other records":  {agreeing{to: agreed}, "https://api.example.org/x", "hub/users", false},
		"nobody to ask":  {vault{}, "https://api.example.org/x", "hub/repos", false},
		"nobody at all":  {nil, "https://api.example.org/x", "hub/repos", false},
		"cannot be said": {agreeing{err: broken}, "https://api.example.org/x", "hub/repos", false},
		"no records":     {nil, "https://api.example.org/x", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			target, _ := url.Parse(of.address)
			_, err := authenticated{client: countingSender{&sent}, secrets: of.secrets}.Do(t.Context(), &Call{Request: &exchange.Request{URL: target, Records: of.records}})
			if (err == nil) != of.leaves || (sent > 0) != of.leaves {
				t.Fatalf("%d sent, %v", sent, err)
			}
			if err == nil || errors.Is(err, broken) {
				return
			}
			var f *fault.Error
			if !errors.As(err, new(*trust.Refusal)) || !errors.As(err, &f) || !f.Unsent {
				t.Errorf("%v", err)
			}
		})
	}
}

package transport

import (
	"context"
	"errors"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// panicking is a defect of ours that a strange answer brings to light.
type panicking struct{}

func (panicking) Send(context.Context, *exchange.Request) (*exchange.Response, error) {
	panic("a strange answer")
}

// I11: a panic is caught above and costs one task. Its permit comes back, or the
// source would have one place less, and at last none, until the process ends.
func TestPanicGivesThePermitBack(t *testing.T) {
	for name, chain := range map[string]func(Permits) Doer{
		"request":    func(p Permits) Doer { return Stack(panicking{}, p) },
		"token call": func(p Permits) Doer { return StackSigned(panicking{}, grantSecrets, p) },
	} {
		permits, in := &turnstile{}, call()
		if name == "token call" {
			in.Request.Credential, in.Request.CredentialRequired = grantOf(t, nil), true
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the panic was swallowed", name)
				}
			}()
			_, _ = chain(permits).Do(t.Context(), in)
		}()
		if permits.given != 1 || permits.back != 1 || permits.feedback[0] != (gate.Signal{Outcome: gate.Refused}) {
			t.Errorf("%s: %d permits taken, %d given back, told %+v", name, permits.given, permits.back, permits.feedback)
		}
	}
}

// shut lets nobody through.
type shut struct{}

func (shut) Acquire(context.Context, gate.Ask) (Permit, error) {
	f := fault.New(fault.RateLimited, errors.New("nothing left for today"))
	f.Unsent, f.Wait, f.Held = true, 1<<40, string(gate.Quota)
	return nil, f
}

// What the gate held back was not sent, and does not count as if it had been.
func TestHeldBackIsNotCounted(t *testing.T) {
	in := call()
	in.Request.Credential, in.Request.CredentialRequired = grantOf(t, nil), true
	_, err := StackSigned(panicking{}, grantSecrets, shut{}).Do(t.Context(), in)
	if fault.As(err).Code != fault.RateLimited || in.Notes.TokenCalls != 0 || in.Notes.Requests() != 0 {
		t.Errorf("%v, noted %+v", err, in.Notes)
	}
}

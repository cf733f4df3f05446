package operate

import (
	"context"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spelling"
	"github.com/patra-ingest/patra/internal/core/view"
)

// AlertStore is what operating alerts needs of the store.
type AlertStore interface {
	SilenceAlerts(ctx context.Context, want alert.Silence, by ingest.Act) (alert.Silence, error)
	UnsilenceAlerts(ctx context.Context, id int64, by ingest.Act) (ended alert.Silence, changed bool, err error)
	RetryAlertMessages(ctx context.Context, receiver string, by ingest.Act) (messages int, err error)
}

// Alerts is what operators do to alerts.
type Alerts struct{ store AlertStore }

// NewAlerts makes it.
func NewAlerts(s AlertStore) *Alerts { return &Alerts{s} }

// Silence keeps alerts from being told until an instant. It must name something: a silence
// of everything is a pager that was switched off, and looks like a quiet night.
func (a *Alerts) Silence(ctx context.Context, want alert.Silence, by ingest.Act) (alert.Silence, error) {
	by, err := checkSigned(by, true)
	if err != nil {
		return want, err
	}
	if want.Code == "" && want.Source == "" && want.Campaign == "" {
		return want, fmt.Errorf("%w: name a code, a source or a campaign: a silence of everything would hide the next failure too", fault.ErrInvalid)
	}
	if want.Code != "" && !slices.Contains(view.FindingCodes(), want.Code) {
		return want, fmt.Errorf("%w: %q is no code of a finding%s", fault.ErrInvalid, want.Code, nearestCode(string(want.Code)))
	}
	return a.store.SilenceAlerts(ctx, want, by)
}

func nearestCode(given string) string {
	var codes []string
	for _, c := range view.FindingCodes() {
		codes = append(codes, string(c))
	}
	if near := spelling.Nearest(given, codes); near != "" {
		return ": did you mean " + near + "?"
	}
	return ": docs/findings.md lists them"
}

// Unsilence ends a silence.
func (a *Alerts) Unsilence(ctx context.Context, id int64, by ingest.Act) (ended alert.Silence, changed bool, err error) {
	if by, err = checkSigned(by, false); err != nil {
		return ended, false, err
	}
	return a.store.UnsilenceAlerts(ctx, id, by)
}

// Retry makes the messages of a receiver due that failed or were given up.
func (a *Alerts) Retry(ctx context.Context, receiver string, by ingest.Act) (messages int, err error) {
	if by, err = checkSigned(by, false); err != nil {
		return 0, err
	}
	return a.store.RetryAlertMessages(ctx, receiver, by)
}

// Package alarm holds a store to what it promises about alerts: decided and queued in one
// step, sent in order, noted once.
// It is a part of storetest, cut where the store is cut.
//
// It must never import another part: what two of them need stands in fixture.
package alarm

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// Topics are what this part of the suite tries.
func Topics(of fixture.Suite) []fixture.Topic {
	s := suite{of}
	return []fixture.Topic{
		{Name: "Alerts", Run: s.alerts},
		{Name: "AlertMessages", Run: s.messages},
		{Name: "AlertSilences", Run: s.silences},
	}
}

// Lossy are the steps of this room whose answers may get lost.
func Lossy() []fixture.Lossy { return fixture.LossySteps(enterWorld, lossyAlerts()) }

// world is a world with what only this part does in it.
type world struct{ *fixture.World }

type suite struct{ fixture.Suite }

// test runs a body in a world of its own.
func (s suite) test(t *testing.T, name string, body func(w *world)) {
	t.Helper()
	s.Test(t, name, func(w *fixture.World) { body(&world{w}) })
}

type answer = fixture.Answer

// lossy is a step of this room whose answer may get lost; see fixture.LossySteps.
type lossy struct {
	Step, Name string
	Prepare    func(w *world) func() (answer, error)
}

func enterWorld(w *fixture.World) *world { return &world{w} }

// config tells two receivers at once.
func config() alert.Config {
	return alert.Config{Receivers: map[string]alert.Receiver{"mail": {}, "chat": {}}, Rules: map[string]alert.Rule{"all": {For: alert.AtOnce}}}
}

// found is a finding about a source.
func found(source string) view.Finding {
	return view.Finding{Code: view.FoundQuarantined, Subject: view.Subject{Source: source, Endpoint: "works"}, Count: 3}.Complete(threshold.Default(), fixture.Noon)
}

// hold takes the lease of alerts.
func (w *world) hold() alert.Lease {
	w.Helper()
	epoch, held, err := w.Store.AcquireLease(w.Ctx, "alerts", "a", time.Hour)
	w.Must(err)
	if !held {
		w.Fatal("the lease is not free")
	}
	return alert.Lease{Name: "alerts", Owner: "a", Epoch: epoch}
}

// decide looks at findings and tells how many messages that queued.
func (w *world) decide(l alert.Lease, of ...view.Finding) int {
	w.Helper()
	n, err := w.Store.DecideAlerts(w.Ctx, l, config(), of)
	w.Must(err)
	return n
}

// due lists what is to be sent now.
func (w *world) due() []alert.Delivery {
	w.Helper()
	out, err := w.Store.DueAlertMessages(w.Ctx)
	w.Must(err)
	return out
}

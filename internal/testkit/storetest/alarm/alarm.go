package alarm

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) alerts(t *testing.T) {
	s.test(t, "what is told is queued for every receiver, once, and its end too", func(w *world) {
		l := w.hold()
		if n := w.decide(l, found("crossref")); n != 2 {
			w.Errorf("%d messages", n)
		}
		if n := w.decide(l, found("crossref")); n != 0 {
			w.Errorf("%d messages for the same", n)
		}
		w.Clock.Advance(time.Minute)
		w.decide(l)
		w.Clock.Advance(alert.UsualResolveAfter)
		if n := w.decide(l); n != 2 {
			w.Errorf("%d messages at the end", n)
		}
		rows, err := w.Store.Alerts(w.Ctx, view.Filter{Limit: 10})
		w.Must(err)
		if len(rows) != 1 || rows[0].State != alert.Ended || rows[0].Times != 1 || rows[0].Alert.Subject.Source != "crossref" || !rows[0].SeenAt.Equal(fixture.Noon) {
			w.Errorf("%+v", rows)
		}
		w.Clock.Advance(time.Minute) // it begins anew beside the row that ended
		if n := w.decide(l, found("crossref")); n != 2 {
			w.Errorf("%d messages when it began anew", n)
		}
		open, err := w.Store.Alerts(w.Ctx, view.Filter{Limit: 10, Source: "crossref", Status: string(alert.Open)})
		w.Must(err)
		if len(open) != 1 {
			w.Errorf("%+v", open)
		}
		one, err := w.Store.AlertRow(w.Ctx, rows[0].ID)
		w.Must(err)
		if !reflect.DeepEqual(one, rows[0]) {
			w.Errorf("%+v, listed as %+v", one, rows[0])
		}
		_, err = w.Store.AlertRow(w.Ctx, 99)
		w.Refuses(err, fault.ErrNotFound, "an alert that never was")
	})
	s.test(t, "a process whose lease was taken decides nothing", func(w *world) {
		l := w.hold()
		w.Clock.Advance(2 * time.Hour)
		_, held, err := w.Store.AcquireLease(w.Ctx, "alerts", "b", time.Hour)
		w.Must(err)
		if !held {
			w.Fatal("not taken")
		}
		w.Unchanged("what the old owner does", func() {
			_, err := w.Store.DecideAlerts(w.Ctx, l, config(), []view.Finding{found("crossref")})
			w.Refuses(err, fault.ErrStale, "a look of the old owner")
		})
	})
	s.test(t, "what was never told leaves nothing behind", func(w *world) {
		l, c := w.hold(), config()
		c.Rules = nil
		_, err := w.Store.DecideAlerts(w.Ctx, l, c, []view.Finding{found("crossref")})
		w.Must(err)
		_, err = w.Store.DecideAlerts(w.Ctx, l, c, nil)
		w.Must(err)
		if n := w.Number("SELECT COUNT(*) FROM ing_alert") + w.Number("SELECT COUNT(*) FROM ing_alert_message"); n != 0 {
			w.Errorf("%d rows", n)
		}
	})
	s.test(t, "what is over is kept for a while", func(w *world) {
		l := w.hold()
		w.decide(l, found("a"))
		for _, d := range w.due() {
			_, err := w.Store.NoteAlertTry(w.Ctx, d, "", false)
			w.Must(err)
		}
		_, err := w.Store.SilenceAlerts(w.Ctx, alert.Silence{Source: "a", Until: w.Clock.Read().Add(time.Hour)}, fixture.Tester)
		w.Must(err)
		w.Clock.Advance(time.Hour)
		w.decide(l, found("b"))
		w.Clock.Advance(time.Hour)
		w.decide(l, found("b"))
		w.Must(w.Store.PruneAlerts(w.Ctx, fixture.Noon, 10))
		if n := w.Number("SELECT COUNT(*) FROM ing_alert_message"); n != 6 {
			w.Errorf("%d messages", n)
		}
		w.Must(w.Store.PruneAlerts(w.Ctx, fixture.Noon.Add(fixture.Day), 10))
		left := []int64{w.Number("SELECT COUNT(*) FROM ing_alert"), w.Number("SELECT COUNT(*) FROM ing_alert_message"), w.Number("SELECT COUNT(*) FROM ing_alert_silence")}
		if !slices.Equal(left, []int64{1, 4, 0}) { // what is open or waits stays
			w.Errorf("%v are left", left)
		}
	})
}

// queuedTo are the messages that wait for a receiver.
func (w *world) queuedTo(receiver string) []alert.Delivery {
	w.Helper()
	rows, err := w.Store.AlertDeliveries(w.Ctx, view.Filter{Status: string(alert.Queued), Limit: 50})
	w.Must(err)
	return slices.DeleteFunc(rows, func(d alert.Delivery) bool { return d.Receiver != receiver })
}

func (s suite) messages(t *testing.T) {
	s.test(t, "each receiver gets its messages in order, and one that fails holds no other", func(w *world) {
		l := w.hold()
		w.decide(l, found("a"))
		w.decide(l, found("a"), found("b"))
		heads := w.due()
		if len(heads) != 2 || heads[0].Receiver == heads[1].Receiver || heads[0].Message.ID != heads[1].Message.ID || heads[0].Message.Alerts[0].Subject.Source != "a" {
			w.Fatalf("%+v", heads)
		}
		failed, err := w.Store.NoteAlertTry(w.Ctx, heads[0], "connection refused", false)
		w.Must(err)
		if failed.Status != alert.Queued || failed.Tries != 1 || !failed.DueAt.After(w.Clock.Read()) {
			w.Errorf("%+v", failed)
		}
		_, err = w.Store.NoteAlertTry(w.Ctx, heads[1], "", false)
		w.Must(err)
		next := w.due()
		if len(next) != 1 || next[0].Receiver != heads[1].Receiver || next[0].Message.Alerts[0].Subject.Source != "b" {
			w.Errorf("%+v", next)
		}
		w.Clock.Advance(time.Minute)
		if again := w.due(); len(again) != 2 || again[0].ID != heads[0].ID || again[0].Message.ID != heads[0].Message.ID {
			w.Errorf("%+v", again)
		}
	})
	s.test(t, "who does not get messages is known, until it answers again", func(w *world) {
		l := w.hold()
		w.decide(l, found("a"))
		heads := w.due()
		_, err := w.Store.NoteAlertTry(w.Ctx, heads[0], "connection refused", false)
		w.Must(err)
		undelivered := func() []view.Undelivered {
			out, err := w.Store.UndeliveredAlerts(w.Ctx, w.Clock.Read().Add(-alert.UndeliveredAfter))
			w.Must(err)
			return out
		}
		if got := undelivered(); len(got) != 0 {
			w.Errorf("%+v after a moment", got)
		}
		w.Clock.Advance(alert.UndeliveredAfter)
		if got := undelivered(); len(got) != 1 || got[0].Receiver != heads[0].Receiver || got[0].Error != "connection refused" || got[0].GivenUp != 0 {
			w.Errorf("%+v", got)
		}
		_, err = w.Store.NoteAlertTry(w.Ctx, heads[1], "refused with 401", true)
		w.Must(err)
		if got := undelivered(); len(got) != 2 {
			w.Errorf("%+v", got)
		}
		n, err := w.Store.RetryAlertMessages(w.Ctx, heads[1].Receiver, fixture.Tester)
		w.Must(err)
		if due := w.due(); n != 1 || len(due) != 2 || due[1].Tries != 0 {
			w.Errorf("%d: %+v", n, due)
		}
	})
	s.test(t, "messages to a receiver that is not declared any more are given up", func(w *world) {
		l := w.hold()
		w.decide(l, found("a"))
		c := config()
		delete(c.Receivers, "mail")
		_, err := w.Store.DecideAlerts(w.Ctx, l, c, []view.Finding{found("a")})
		w.Must(err)
		rows, err := w.Store.AlertDeliveries(w.Ctx, view.Filter{Status: string(alert.Discarded), Limit: 10})
		w.Must(err)
		if len(rows) != 1 || rows[0].Receiver != "mail" || len(w.due()) != 1 {
			w.Errorf("%+v", rows)
		}
	})
	s.test(t, "what lasts is told once to a receiver that was away, and what began and ended always", func(w *world) {
		l := w.hold()
		w.decide(l, found("a"))
		kinds := func(receiver string, status alert.DeliveryStatus) (out []alert.Kind) {
			rows, err := w.Store.AlertDeliveries(w.Ctx, view.Filter{Limit: 50})
			w.Must(err)
			for _, d := range slices.Backward(rows) {
				if d.Receiver == receiver && d.Status == status {
					out = append(out, d.Message.Kind)
				}
			}
			return out
		}
		for _, d := range w.due() { // chat gets the first message, mail gets none
			if d.Receiver == "chat" {
				_, err := w.Store.NoteAlertTry(w.Ctx, d, "", false)
				w.Must(err)
			}
		}
		for range 3 {
			w.Clock.Advance(alert.UsualRepeat)
			w.decide(l, found("a"))
			for _, d := range w.due() {
				_, err := w.Store.NoteAlertTry(w.Ctx, d, "connection refused", false)
				w.Must(err)
			}
		}
		if got, want := kinds("mail", alert.Queued), []alert.Kind{alert.Firing, alert.Repeated}; !slices.Equal(got, want) {
			w.Errorf("mail waits for %v, want %v", got, want)
		}
		if got, want := kinds("chat", alert.Queued), []alert.Kind{alert.Repeated}; !slices.Equal(got, want) {
			w.Errorf("chat waits for %v, want %v", got, want)
		}
		if got := kinds("chat", alert.Discarded); len(got) != 2 {
			w.Errorf("of chat %v was discarded", got)
		}
		for _, d := range w.queuedTo("chat") {
			if d.Tries != 3 || !d.QueuedAt.Equal(fixture.Noon.Add(alert.UsualRepeat)) || !d.Message.At.Equal(w.Clock.Read()) {
				w.Errorf("%+v", d)
			}
		}
		w.Clock.Advance(alert.UsualRepeat)
		w.decide(l, found("a"), found("b")) // of another alert nothing is lost
		w.Clock.Advance(time.Minute)
		w.decide(l, found("b"))
		w.Clock.Advance(alert.UsualResolveAfter)
		w.decide(l, found("b"))
		if got, want := kinds("chat", alert.Queued), []alert.Kind{alert.Firing, alert.Repeated, alert.Resolved}; !slices.Equal(got, want) {
			w.Errorf("chat waits for %v, want %v", got, want)
		}
	})
	s.test(t, "the messages about an alert are found by their time", func(w *world) {
		l := w.hold()
		w.decide(l, found("a"))
		w.Clock.Advance(time.Hour)
		w.decide(l, found("a"), found("b"))
		rows, err := w.Store.AlertMessagesBetween(w.Ctx, fixture.Noon, fixture.Noon)
		w.Must(err)
		if len(rows) != 2 {
			w.Errorf("%+v", rows)
		}
	})
}

func (s suite) silences(t *testing.T) {
	s.test(t, "a silence holds alerts back until it ends or is taken back", func(w *world) {
		l := w.hold()
		want := alert.Silence{Code: view.FoundQuarantined, Source: "a", Until: w.Clock.Read().Add(time.Hour)}
		made, err := w.Store.SilenceAlerts(w.Ctx, want, fixture.Tester)
		w.Must(err)
		if n := w.decide(l, found("a"), found("b")); n != 2 {
			w.Errorf("%d messages", n)
		}
		ended, changed, err := w.Store.UnsilenceAlerts(w.Ctx, made.ID, fixture.Tester)
		w.Must(err)
		if !changed || !ended.RemovedAt.Equal(w.Clock.Read()) {
			w.Errorf("%v %+v", changed, ended)
		}
		if n := w.decide(l, found("a"), found("b")); n != 2 {
			w.Errorf("%d messages without the silence", n)
		}
		_, changed, err = w.Store.UnsilenceAlerts(w.Ctx, made.ID, fixture.Tester)
		w.Must(err)
		rows, err := w.Store.AlertSilences(w.Ctx, view.Filter{Limit: 10})
		w.Must(err)
		if changed || len(rows) != 1 || rows[0] != ended {
			w.Errorf("%+v, ended as %+v", rows, ended)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action LIKE 'alert.%'"); n != 2 {
			w.Errorf("%d lines of the audit log", n)
		}
	})
	s.test(t, "a rehearsal and a silence of the past write nothing", func(w *world) {
		rehearsed := ingest.Act{Actor: "me", Reason: "why", Rehearsal: true}
		w.Unchanged("they", func() {
			_, err := w.Store.SilenceAlerts(w.Ctx, alert.Silence{Source: "a", Until: w.Clock.Read().Add(time.Hour)}, rehearsed)
			w.Must(err)
			_, err = w.Store.SilenceAlerts(w.Ctx, alert.Silence{Source: "a", Until: w.Clock.Read()}, fixture.Tester)
			w.Refuses(err, fault.ErrInvalid, "a silence that is over")
			_, _, err = w.Store.UnsilenceAlerts(w.Ctx, 7, fixture.Tester)
			w.Refuses(err, fault.ErrNotFound, "a silence that never was")
		})
	})
}

func lossyAlerts() []lossy {
	silence := func(w *world) alert.Silence {
		return alert.Silence{Source: "a", Until: w.Clock.Read().Add(time.Hour)}
	}
	return []lossy{
		{"decide alerts", "decide alerts", func(w *world) func() (answer, error) {
			l := w.hold()
			return func() (answer, error) {
				_, err := w.Store.DecideAlerts(w.Ctx, l, config(), []view.Finding{found("a")})
				return nil, err
			}
		}},
		{"note alert try", "note alert try that failed", func(w *world) func() (answer, error) {
			w.decide(w.hold(), found("a"))
			head := w.due()[0]
			return func() (answer, error) {
				return first(w.Store.NoteAlertTry(w.Ctx, head, "connection refused", false))
			}
		}},
		{"note alert try", "note alert try", func(w *world) func() (answer, error) {
			w.decide(w.hold(), found("a"))
			head := w.due()[0]
			return func() (answer, error) { return first(w.Store.NoteAlertTry(w.Ctx, head, "", false)) }
		}},
		{"retry alert messages", "retry alert messages", func(w *world) func() (answer, error) {
			w.decide(w.hold(), found("a"))
			head := w.due()[0]
			_, err := w.Store.NoteAlertTry(w.Ctx, head, "refused with 401", true)
			w.Must(err)
			return func() (answer, error) {
				_, err := w.Store.RetryAlertMessages(w.Ctx, head.Receiver, fixture.Tester)
				return nil, err
			}
		}},
		{"silence alerts", "silence alerts", func(w *world) func() (answer, error) {
			want := silence(w)
			return func() (answer, error) { return first(w.Store.SilenceAlerts(w.Ctx, want, fixture.Tester)) }
		}},
		{"unsilence alerts", "unsilence alerts", func(w *world) func() (answer, error) {
			made, err := w.Store.SilenceAlerts(w.Ctx, silence(w), fixture.Tester)
			w.Must(err)
			return func() (answer, error) {
				_, _, err := w.Store.UnsilenceAlerts(w.Ctx, made.ID, fixture.Tester)
				return nil, err
			}
		}},
		{"prune alerts", "prune alerts", func(w *world) func() (answer, error) {
			l := w.hold()
			w.decide(l, found("a"))
			for _, d := range w.due() {
				_, err := w.Store.NoteAlertTry(w.Ctx, d, "", false)
				w.Must(err)
			}
			return func() (answer, error) { return nil, w.Store.PruneAlerts(w.Ctx, fixture.Noon.Add(fixture.Day), 10) }
		}},
	}
}

// first returns the one answer of a call and its error.
func first[T any](value T, err error) (answer, error) { return value, err }

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// usualEventsAge is how long an event may wait before somebody should look: longer
// than any pause of a relay that works, and than what one that falls behind needs to
// be noticed.
const usualEventsAge = time.Hour

// events looks at the outbox. Events that no relay takes are no finding: who has no
// receiver waits for nothing.
func (l *looker) events(ctx context.Context, source string) error {
	backlogs, err := l.app.Store.Backlogs(ctx, source)
	if err != nil {
		return err
	}
	living, err := l.app.AtWork(ctx)
	if err != nil {
		return err
	}
	relays := 0
	for _, p := range living {
		if strings.Contains(p.Roles, string(daemon.RoleRelay)) {
			relays++
		}
	}
	l.report.Events, l.report.Relays = append([]view.Backlog{}, backlogs...), relays
	for _, b := range backlogs {
		l.judgeEvents(b, relays)
	}
	return nil
}

func (l *looker) judgeEvents(b view.Backlog, relays int) {
	about := b.Source + "/" + b.Endpoint
	if b.Dead > 0 {
		l.find(about, "%s dead, refused by their receiver: `patra outbox list --status DEAD --source %s` shows them, then retry or discard them", counted(b.Dead, "event"), b.Source)
	}
	if !b.HasPublisher(relays, l.report.Now) {
		return
	}
	for _, a := range b.Away {
		if b.Waiting+b.Failed == 0 {
			break // nobody misses it
		}
		l.find(about, "receiver %s is away, last tried %s: %s; %s", a.Destination, minuteText(a.TriedAt), short(a.Error, 120), heldText(b, l.report.Now))
	}
	waited := l.report.Now.Sub(b.Since)
	switch {
	case b.Waiting == 0 || l.eventsAge == 0 || waited <= l.eventsAge || len(b.Away) > 0:
	case relays == 0:
		l.find(about, "%s, longer than %s, and no process relays: `patra events publish` or `patra serve --roles relay` does", waitText(b, l.report.Now), age(l.eventsAge))
	default:
		l.find(about, "%s, longer than %s: the relay does not keep up; `patra events deliveries --source %s` tells more", waitText(b, l.report.Now), age(l.eventsAge), b.Source)
	}
}

func waitText(b view.Backlog, now time.Time) string {
	if b.Waiting == 0 {
		return "no event waits"
	}
	more, verb := "", "wait"
	if b.More {
		more = " or more"
	} else if b.Waiting == 1 {
		verb = "waits"
	}
	return fmt.Sprintf("%s%s %s, the oldest for %s", counted(b.Waiting, "event"), more, verb, age(now.Sub(b.Since)))
}

// heldText adds what was refused before and waits for its next try.
func heldText(b view.Backlog, now time.Time) string {
	if b.Failed == 0 {
		return waitText(b, now)
	}
	return waitText(b, now) + fmt.Sprintf(", %d failed and tried again", b.Failed)
}

// outbox is a line for every dataset with events that are not delivered.
func (r statusReport) outbox() (out string) {
	for _, b := range r.Events {
		text := heldText(b, r.Now)
		if b.Dead > 0 {
			text += fmt.Sprintf(", %d dead", b.Dead)
		}
		switch {
		case b.HasPublisher(r.Relays, r.Now):
		case b.Relayed:
			text += "; nobody publishes them, last tried " + minuteText(b.TriedAt)
		default:
			text += "; nobody publishes them"
		}
		out += indented(printable("events of "+b.Source+"/"+b.Endpoint+": "+text), 80)
	}
	return out
}

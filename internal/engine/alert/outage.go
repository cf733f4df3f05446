package alert

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// outage is what keeps alerts from being decided. It is remembered by this process alone:
// there is no database to keep it in.
type outage struct {
	since time.Time // zero: all is well
	alert alert.Alert
	told  []alert.Addressed // that arrived
}

// followOutage tells that findings cannot be looked at once that has lasted as long as a rule
// says, and that it is over. What is told does not depend on the database.
func (s *Service) followOutage(ctx context.Context, failure error) {
	now := time.Now().UTC()
	switch {
	case failure == nil:
		s.endOutage(ctx, now)
		return
	case s.outage.since.IsZero():
		s.outage.since = now
	}
	s.outage.alert = s.outageAlert(ctx, failure)
	for _, a := range s.config.Declared.Outage(s.outage.alert, alert.Firing, now) {
		if s.wasTold(a) || s.config.Senders[a.Receiver] == nil {
			continue
		}
		if s.sendDirectly(ctx, a) {
			s.outage.told = append(s.outage.told, a)
		}
	}
}

func (s *Service) wasTold(a alert.Addressed) bool {
	for _, t := range s.outage.told {
		if t.Receiver == a.Receiver && t.Message.Rule == a.Message.Rule {
			return true
		}
	}
	return false
}

// endOutage tells those who heard of an outage that it is over.
func (s *Service) endOutage(ctx context.Context, now time.Time) {
	ended := s.outage.alert
	ended.ResolvedAt = now
	for _, a := range s.config.Declared.Outage(ended, alert.Resolved, now) {
		if s.wasTold(a) && s.config.Senders[a.Receiver] != nil {
			s.sendDirectly(ctx, a)
		}
	}
	s.outage = outage{}
}

func (s *Service) sendDirectly(ctx context.Context, a alert.Addressed) bool {
	if err := s.trySend(ctx, a.Receiver, a.Message); err != nil {
		s.log.Error("a message of alerts was not delivered", "receiver", a.Receiver, "kind", string(a.Message.Kind), "message", a.Message.ID, "error", err)
		return false
	}
	s.log.Info("alert sent", "receiver", a.Receiver, "kind", string(a.Message.Kind), "message", a.Message.ID, "rule", a.Message.Rule, "alerts", 1)
	return true
}

// outageAlert says what keeps findings from being looked at.
func (s *Service) outageAlert(ctx context.Context, failure error) alert.Alert {
	since := s.outage.since
	if errors.Is(failure, fault.ErrFull) {
		told := alert.Alert{Code: view.FoundUnreachable, Severity: view.Critical, About: "database", Since: since, Next: "df -h"}
		disk := s.findFullDisk(ctx)
		if disk != nil {
			told.Next += " " + disk.Path
		}
		told.Text = wording.DiskFullText(disk)
		return told
	}
	var unreachable errUnreachable
	if errors.As(failure, &unreachable) {
		return alert.NewAlert(view.Finding{Code: view.FoundUnreachable, Severity: view.FoundUnreachable.Severity(), Since: since, Next: "patra status", Error: failure.Error()}, time.Now().UTC())
	}
	return alert.Alert{
		Code: view.FoundUncomputable, Severity: view.Critical, About: "status", Since: since, Next: "patra status",
		Text: "findings cannot be looked at, so nothing else can be told: " + wording.Shorten(failure.Error(), 200),
	}
}

// findFullDisk returns the disk of the database as the findings have it: what is stored can
// still be read. nil: it is another machine's.
func (s *Service) findFullDisk(ctx context.Context) *view.Disk {
	found, err := s.find(ctx)
	if err != nil {
		return nil
	}
	for _, f := range found {
		if f.Disk != nil && slices.Contains(f.Disk.Holds, view.HoldsDatabase) {
			return f.Disk
		}
	}
	return nil
}

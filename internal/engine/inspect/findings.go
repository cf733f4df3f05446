package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// addWorkload adds what waits and runs. That tasks wait is a finding where no process
// works.
func (s *statusBuilder) addWorkload(ctx context.Context) error {
	if s.work == nil {
		work, err := s.from.Work.Workload(ctx, s.query.Source)
		if err != nil {
			return err
		}
		s.work = work
	}
	waiting := 0
	for _, w := range s.work {
		waiting += w.Waiting
		if one := s.at(w.Source, w.Endpoint); one != nil {
			one.Running, one.Waiting = one.Running+w.Running, one.Waiting+w.Waiting
		}
	}
	for _, p := range s.held {
		waiting -= p.Tasks // no process would take them
	}
	if waiting > 0 && s.report.Processes == 0 {
		s.find(view.Finding{Code: view.FoundNoWorker, Count: waiting})
	}
	return nil
}

// addRestarts adds the slices that are read from their first page again and again,
// and are still not read.
func (s *statusBuilder) addRestarts(ctx context.Context) error {
	found, err := s.from.Work.StartedOver(ctx, s.query.Source)
	for _, f := range found {
		s.find(view.Finding{Code: view.FoundStartedOver, Subject: view.Subject{Source: f.Source, Endpoint: f.Endpoint, Operation: f.Operation}, Count: f.Restarts, Restarted: &f})
	}
	return err
}

// addRejects adds what is in quarantine, also of what was only backfilled or is
// harvested no more.
func (s *statusBuilder) addRejects() {
	counts := s.beside.rejects
	var found []ingest.Dataset
	for of := range counts {
		found = append(found, of)
	}
	slices.SortFunc(found, func(a, b ingest.Dataset) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	for _, of := range found {
		if one := s.at(of.Source, of.Endpoint); one != nil {
			one.Quarantined = counts[of].Items
		}
		s.find(view.Finding{Code: view.FoundQuarantined, Subject: view.Subject{Source: of.Source, Endpoint: of.Endpoint}, Count: int(counts[of].Items), Groups: counts[of].Groups})
	}
}

// excludedSpan is the time of which left out items are counted.
const excludedSpan = 7 * 24 * time.Hour

// addExcluded adds what rules of sources left out lately. That is no finding: the source says so. It is shown
// beside the rejects, because a rule that leaves out everything looks like an upstream that has nothing.
func (s *statusBuilder) addExcluded(ctx context.Context) error {
	sums, err := s.from.Lately.WorkSums(ctx, view.SumQuery{Source: s.query.Source, From: s.report.Now.Add(-excludedSpan), To: s.report.Now, Step: excludedSpan})
	if err != nil {
		return err
	}
	for _, sum := range sums {
		if one := s.at(sum.Source, sum.Endpoint); one != nil {
			one.Excluded += sum.Items.Excluded
		}
	}
	return nil
}

// addMissing adds records that upstreams did not have. That is no finding: a passing
// gap heals automatically, and a deletion is true a day later.
func (s *statusBuilder) addMissing(ctx context.Context) (err error) {
	s.report.Missing, err = s.from.Beside.Missing(ctx, s.query.Source)
	return err
}

func (s *statusBuilder) addPauses(ctx context.Context) error {
	pauses, err := s.from.Beside.Pauses(ctx, s.query.Source)
	for _, p := range pauses {
		s.find(view.Finding{Code: view.FoundPaused, Subject: view.Subject{Source: p.Source, Endpoint: p.Endpoint, Operation: string(p.Operation)}, Since: p.Since, Pause: &p})
	}
	return err
}

// addConditions adds endpoints in trouble. That the program stopped a source is told by its
// pause alone: one cause is one finding.
func (s *statusBuilder) addConditions(ctx context.Context) error {
	all, err := s.from.Work.Conditions(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if s.query.Source != "" && c.Source != s.query.Source {
			continue
		}
		if one := s.at(c.Source, c.Endpoint); one != nil {
			one.Conditions = append(one.Conditions, c)
		}
		if c.Condition == health.Fatal {
			continue
		}
		s.find(view.Finding{Code: view.FoundCondition, Subject: view.Subject{Source: c.Source, Endpoint: c.Endpoint, Operation: c.Operation, Condition: string(c.Condition)}, Since: c.Since, Until: c.Until, Condition: &c})
	}
	return nil
}

// addDoubts adds what the answers of sources tell about themselves. What counts is
// decided by view.Doubt.
func (s *statusBuilder) addDoubts(ctx context.Context) error {
	all, err := s.from.Beside.Doubts(ctx, s.query.Source)
	for _, d := range all {
		for _, code := range d.Findings() {
			s.find(view.Finding{Code: code, Subject: view.Subject{Source: d.Source, Endpoint: d.Endpoint, Operation: d.Operation}, Doubt: &d})
		}
	}
	return err
}

// addEvents looks at the outbox. Events that no relay takes are no finding: who has no
// receiver waits for nothing.
func (s *statusBuilder) addEvents() {
	s.report.Events = append(s.report.Events, s.beside.backlogs...)
	for _, b := range s.beside.backlogs {
		s.findInBacklog(b)
	}
}

func (s *statusBuilder) findInBacklog(b view.Backlog) {
	about := view.Subject{Source: b.Source, Endpoint: b.Endpoint}
	if b.Dead > 0 {
		s.find(view.Finding{Code: view.FoundDeadEvents, Subject: about, Count: b.Dead, Backlog: &b})
	}
	if !b.HasPublisher(s.report.Relays, s.report.Now) {
		return
	}
	for _, a := range b.Away {
		if b.Waiting+b.Failed == 0 {
			break // nobody misses it
		}
		s.find(view.Finding{Code: view.FoundReceiverAway, Subject: about, Count: b.Waiting + b.Failed, Error: a.Error, Receiver: &a, Backlog: &b})
	}
	if b.Waiting == 0 || s.query.EventsAge == 0 || s.report.Now.Sub(b.Since) <= s.query.EventsAge || len(b.Away) > 0 {
		return
	}
	late := view.Finding{Code: view.FoundEventsBehind, Subject: about, Since: b.Since, Count: b.Waiting, Limit: duration.Duration(s.query.EventsAge), Backlog: &b}
	if s.report.Relays == 0 {
		late.Code = view.FoundUnrelayed
	}
	s.find(late)
}

// addCheck adds that the database was not checked for long, or is damaged. It is of no
// single source.
func (s *statusBuilder) addCheck(ctx context.Context) error {
	if s.query.Source != "" {
		return nil
	}
	last, err := s.from.Checks.LastCheck(ctx)
	if err != nil {
		return err
	}
	f := view.Finding{Since: last.At, Count: int(last.Found), Limit: duration.Duration(s.query.CheckAge), Check: &last}
	switch last.State(s.report.Now, s.query.CheckAge) {
	case integrity.Damaged:
		f.Code = view.FoundDamaged
	case integrity.NeverChecked:
		f.Code = view.FoundNeverChecked
	case integrity.TooOld:
		f.Code = view.FoundCheckTooOld
	default:
		return nil
	}
	s.find(f)
	return nil
}

// addClock adds that this machine's clock differs from the store's, which was asked between
// two looks at it: a slow answer is no difference.
func (s *statusBuilder) addClock(before, after time.Time) {
	apart := max(before.Sub(s.report.Now), 0)
	if after.Before(s.report.Now) {
		apart = after.Sub(s.report.Now)
	}
	if s.query.Source == "" && apart.Abs() > s.limits.ClockOff {
		s.find(view.Finding{Code: view.FoundClockOff, Apart: duration.Duration(apart), Limit: duration.Duration(s.limits.ClockOff)})
	}
}

// addDiffering adds watermarks that differ from their events: what they call complete may be
// missing.
func (s *statusBuilder) addDiffering(ctx context.Context) error {
	all, err := s.from.Advances.DifferingCursors(ctx, s.query.Source)
	for _, d := range all {
		s.find(view.Finding{Code: view.FoundCursor, Subject: view.Subject{Source: d.Source, Endpoint: d.Endpoint, Operation: d.Operation, CursorID: d.CursorID}, Differs: &d})
	}
	return err
}

// addUntrusted adds the sources that cannot run before somebody agrees.
func (s *statusBuilder) addUntrusted(ctx context.Context) error {
	all, err := s.from.Machine.Untrusted(ctx, s.query.Source)
	for _, stopped := range all {
		s.find(view.Finding{Code: view.FoundUntrusted, Subject: view.Subject{Source: strings.TrimPrefix(stopped.What, "source ")}, Untrusted: &stopped})
	}
	return err
}

// addUndelivered adds receivers of alerts that messages do not reach. It is of no single
// source.
func (s *statusBuilder) addUndelivered(ctx context.Context) error {
	if s.query.Source != "" {
		return nil
	}
	all, err := s.from.Alerts.UndeliveredAlerts(ctx, s.report.Now.Add(-alert.UndeliveredAfter))
	for _, u := range all {
		s.find(view.Finding{Code: view.FoundUndelivered, Since: u.Since, Count: u.Messages, Error: u.Error, Undelivered: &u})
	}
	return err
}

// addCampaigns looks at the coverage of backfills and updates: what failed there is
// not a gap of a harvest. Cursors of ids are left out: for them the tables tell what is
// open, and the segments do not.
func (s *statusBuilder) addCampaigns(ctx context.Context, cursors []view.Cursor) error {
	campaigns, err := s.from.Backfills.Campaigns(ctx, s.query.Source, "")
	if err != nil {
		return err
	}
	of := map[int64]ingest.Campaign{}
	for _, c := range campaigns {
		of[c.CursorID] = c
		s.findStopped(c)
	}
	for _, c := range cursors {
		if c.Operation == string(ingest.Harvest) || c.Line() != ingest.CursorTime || of[c.ID].State == ingest.CampaignCancelled {
			continue
		}
		failed, err := s.givenUp(ctx, c)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			s.findUncomputable(c.Source, err)
		}
		if len(failed) > 0 {
			about := view.Subject{Source: c.Source, Endpoint: c.Endpoint, Operation: c.Operation, CursorID: c.ID, Campaign: of[c.ID].Name}
			s.find(view.Finding{Code: view.FoundRanges, Subject: about, Count: len(failed), Windows: failed})
		}
	}
	return nil
}

// findUncomputable notes once that something about a source could not be read: it never hides the
// others.
func (s *statusBuilder) findUncomputable(source string, err error) {
	unknown := []view.FindingCode{view.FoundUnreadable, view.FoundUnplannable, view.FoundUncomputable}
	if !slices.ContainsFunc(s.report.Findings, func(f view.Finding) bool { return f.Subject.Source == source && slices.Contains(unknown, f.Code) }) {
		s.find(view.Finding{Code: view.FoundUncomputable, Subject: view.Subject{Source: source}, Error: err.Error()})
	}
}

// findStopped notes a campaign that nobody goes on with.
func (s *statusBuilder) findStopped(c ingest.Campaign) {
	about := view.Subject{Source: c.Dataset.Source, Endpoint: c.Dataset.Endpoint, Operation: string(ingest.Backfill), Campaign: c.Name, CursorID: c.CursorID}
	switch {
	case c.State != ingest.CampaignActive:
	case c.Note != "":
		s.find(view.Finding{Code: view.FoundCampaignStuck, Subject: about, Note: c.Note})
	case slices.ContainsFunc(s.held, func(p view.HeldPlan) bool { return p.Campaign == c.Name }): // that is the finding
	case s.report.Processes == 0:
		s.find(view.Finding{Code: view.FoundCampaignIdle, Subject: about})
	}
}

// givenUp returns what failed under a cursor and no task works on.
func (s *statusBuilder) givenUp(ctx context.Context, c view.Cursor) (idle []window.Window, err error) {
	segments, err := s.from.Coverage.Segments(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	failed := EndpointCoverage{Segments: segments}.failedWindows()
	if len(failed) == 0 {
		return nil, nil
	}
	open, err := s.from.Coverage.OpenWindows(ctx, ingest.Partition{
		Dataset: ingest.Dataset{Source: c.Source, Endpoint: c.Endpoint}, Operation: ingest.Operation(c.Operation),
	}, c.ID)
	for _, w := range failed {
		idle = append(idle, window.Subtract(w, open)...)
	}
	return idle, err
}

package webui

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// overview is what somebody sees first: what needs a person, then the sources, then what
// goes on.
type overview struct {
	Broken    *problem // the status could not be read
	Needs     []findingRow
	Heals     []findingRow
	Sources   []sourceRow
	All       int // sources without the filter
	Filter    string
	Running   part[[]view.RunningPlan]
	Ticks     []view.NextTick
	Processes []view.Process
	Empty     bool // nothing was planned yet
	Schedules view.Schedules
}

// showOverview answers what needs a person, which sources are behind, and what runs.
func (s *site) showOverview(a *ask) (page, error) {
	o := overview{Filter: strings.TrimSpace(a.FormValue("q"))}
	status := load(a, "how the sources stand", s.pulse.status)
	o.Broken = status.Broken
	seen := seenBy(a, status.Value)
	for _, f := range view.FoldFindings(seen.Findings) {
		if row := newFindingRow(f, a.Now); f.Heals {
			o.Heals = append(o.Heals, row)
		} else {
			o.Needs = append(o.Needs, row)
		}
	}
	sortRows(o.Needs, func(x, y findingRow) int { return cmp.Compare(x.rank, y.rank) })
	sums := load(a, "what was read in the last 24 hours", func(ctx context.Context) ([]view.WorkSum, error) {
		return s.Readers.Status.Throughput(ctx, view.SumQuery{From: a.Now.Add(-sparkRange), To: a.Now, Step: time.Hour})
	})
	o.Sources = sourceRows(a, seen, sums.Value)
	lately := load(a, "the coverage of the last 90 days", func(ctx context.Context) (view.CoverageMap, error) { return s.maps["90d"].Get(ctx, a.Now) })
	addStrips(o.Sources, lately.Value)
	o.All = len(o.Sources)
	o.Sources = slices.DeleteFunc(o.Sources, func(r sourceRow) bool { return !strings.Contains(strings.ToLower(r.Name()), strings.ToLower(o.Filter)) })
	o.Running = load(a, "what runs now", func(ctx context.Context) ([]view.RunningPlan, error) {
		all, err := s.Readers.Status.RunningPlans(ctx)
		return slices.DeleteFunc(all, func(p view.RunningPlan) bool { return !a.Caller.Sees(p.Source) }), err
	})
	o.Ticks, o.Processes = nextTicks(seen.Ticks), seen.AtWork
	o.Empty, o.Schedules = o.Broken == nil && len(seen.Sources) == 0, seen.Schedules
	p := page{Template: "overview", Title: o.title(), Body: o, Live: liveAll}
	if o.Broken == nil {
		p.Lead = o.lead(sums.Value, a)
	}
	return p, nil
}

// addStrips draws the last 90 days of each endpoint.
func addStrips(rows []sourceRow, m view.CoverageMap) {
	for n, r := range rows {
		for _, l := range m.Lines {
			if l.Source == r.Source && l.Endpoint == r.Endpoint {
				rows[n].Strip = drawStrip(l.Cells, "the last 90 days of "+r.Name(), nil)
			}
		}
	}
}

// seenBy leaves out what a caller that is limited to sources may not know of.
func seenBy(a *ask, s view.Status) view.Status {
	if a.Caller.SeesAll() {
		return s
	}
	s.Sources = keep(s.Sources, func(v view.SourceStatus) bool { return a.Caller.Sees(v.Source) })
	s.Findings = keep(s.Findings, func(f view.Finding) bool { return a.Caller.Sees(f.Subject.Source) })
	s.Ticks = keep(s.Ticks, func(t view.NextTick) bool { return a.Caller.Sees(t.Source) })
	s.AtWork, s.Schedules = nil, view.Schedules{}
	return s
}

// keep returns those of a list that fulfil something; the list itself is shared and stays.
func keep[T any](all []T, is func(T) bool) (out []T) {
	for _, one := range all {
		if is(one) {
			out = append(out, one)
		}
	}
	return out
}

// title is the answer to whoever was woken.
func (o overview) title() string {
	needs, heals := findingCount(o.Needs), findingCount(o.Heals)
	switch {
	case o.Broken != nil:
		return "How the sources stand is not known"
	case o.Empty && needs == 0:
		return "Nothing was planned yet"
	case needs == 0 && heals == 0:
		return "All is well"
	case needs == 0:
		return "Nothing needs you, " + healText(heals)
	case heals == 0:
		return needText(needs)
	}
	return needText(needs) + ", " + healText(heals)
}

func needText(n int) string {
	if n == 1 {
		return "1 finding needs you"
	}
	return fmt.Sprintf("%d findings need you", n)
}

func healText(n int) string {
	if n == 1 {
		return "1 heals automatically"
	}
	return fmt.Sprintf("%d heal automatically", n)
}

func findingCount(rows []findingRow) (n int) {
	for _, r := range rows {
		n += max(r.More, 1)
	}
	return n
}

// lead says how the rest stands.
func (o overview) lead(sums []view.WorkSum, a *ask) string {
	within, limited := 0, 0
	for _, r := range o.Sources {
		if r.MaxLagSec > 0 {
			if limited++; r.LagSec <= r.MaxLagSec {
				within++
			}
		}
	}
	var parts []string
	if limited > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s within %s lag limit", within, countText(limited, "source"), itsTheir(limited)))
	}
	var stored int64
	for _, s := range sums {
		if a.Caller.Sees(s.Source) {
			stored += storedItems(s)
		}
	}
	parts = append(parts, groupDigits(stored)+" records in 24 hours")
	if a.Caller.SeesAll() {
		parts = append(parts, processText(len(o.Processes)))
	}
	return strings.Join(parts, " · ")
}

func processText(n int) string {
	switch n {
	case 0:
		return "no process at work"
	case 1:
		return "1 process at work"
	}
	return fmt.Sprintf("%d processes at work", n)
}

func itsTheir(n int) string {
	if n == 1 {
		return "its"
	}
	return "their"
}

func storedItems(s view.WorkSum) int64 { return s.Items.Inserted + s.Items.Updated }

// findingRow is a finding as a line: sign, source, what and why, since when, next step.
type findingRow struct {
	Sign, Tone string
	About      string
	Source     string // its page, where it has one
	What, Why  string
	Since      time.Time
	Until      time.Time
	Age        string
	Next       string
	Page       string // where the same is done
	PageText   string
	More       int
	rank       int
}

func newFindingRow(f view.FoldedFinding, now time.Time) findingRow {
	r := findingRow{About: wording.FindingAbout(f.Finding), Source: f.Subject.Source, Since: f.Since, Until: f.Until, Next: f.Next, More: f.More, rank: severityRank(f.Severity)}
	r.What, r.Why = splitSentence(strings.TrimSuffix(wording.FindingFacts(f.Finding, now), ": "+f.Next))
	if f.More > 0 && f.Code == view.FoundGap {
		r.What, r.Why, r.Next = wording.Count(f.More, "gap")+" more", "", "patra coverage gaps "+f.Subject.Source
	} else if f.More > 0 {
		r.What, r.Why, r.Next, r.About, r.Source = wording.Count(f.More, "slice")+" more that started over again and again", "", "patra task list", "queue", ""
	}
	if !f.Since.IsZero() {
		r.Age = spanText(now.Sub(f.Since))
	}
	r.Sign, r.Tone = signOfFinding(f.Finding)
	r.Page, r.PageText = findingPage(f)
	return r
}

// splitSentence cuts what from why, at the first sign that ends a clause.
func splitSentence(text string) (what, why string) {
	const least = 12 // a first word with a colon is no clause
	best := -1
	for _, sign := range []string{"; ", ": "} {
		if i := strings.Index(text[min(least, len(text)):], sign); i >= 0 && (best < 0 || i+least < best) {
			best = i + least
		}
	}
	if best < 0 {
		return capitalise(text), ""
	}
	return capitalise(text[:best]), capitalise(text[best+2:])
}

func capitalise(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func severityRank(s view.Severity) int {
	return slices.Index([]view.Severity{view.Critical, view.Warning, view.Notice}, s)
}

// signOfFinding returns the sign of a finding and its class: the letters are those of the map.
func signOfFinding(f view.Finding) (sign, tone string) {
	switch {
	case f.Heals:
		return "↻", "way"
	case f.Code == view.FoundGap && f.Gap.Reason == view.GapCapped:
		return "C", "cap"
	case f.Code == view.FoundGap && f.Gap.Reason == view.GapLeft:
		return "L", "fail"
	case f.Code == view.FoundGap, f.Code == view.FoundRanges:
		return "✗", "fail"
	case f.Code == view.FoundPaused:
		return "■", "fail"
	case f.Code == view.FoundQuarantined:
		return "q", "doubt"
	case f.Severity == view.Critical:
		return "!", "fail"
	}
	return "!", "doubt"
}

// sparkRange is what the small charts of sources show.
const sparkRange = 24 * time.Hour

// sourceRow is how one endpoint stands, most urgent first.
type sourceRow struct {
	view.SourceStatus
	State   string // word of its chip
	Chip    string // class
	Lag     time.Duration
	MaxLag  time.Duration
	LagTone string
	Hours   []int64 // records stored, the oldest hour first
	Stored  int64
	Next    time.Time
	Strip   template.HTML // of the last 90 days
	urgency int
}

// Name is source and endpoint, as the command line writes them.
func (r sourceRow) Name() string { return r.Source + "/" + r.Endpoint }

// Behind reports whether time after the watermark was asked for and not read, or more than its
// limit lies there.
func (r sourceRow) Behind() bool { return len(r.Gaps) > 0 || r.lagShare() > 1 }

// Failed says what its last task met, in short.
func (r sourceRow) Failed() string {
	return wording.Shorten(wording.FailureText(r.LastFailure.ErrorCode, r.LastFailure.Error), shownFailure)
}

const shownFailure = 120 // characters

func sourceRows(a *ask, s view.Status, sums []view.WorkSum) (out []sourceRow) {
	for _, one := range s.Sources {
		r := sourceRow{SourceStatus: one, Lag: seconds(one.LagSec), MaxLag: seconds(one.MaxLagSec)}
		r.State, r.Chip, r.urgency = chipOf(one, s.Findings)
		r.LagTone = lagTone(r)
		r.Hours, r.Stored = hoursOf(one, sums, a.Now)
		for _, t := range s.Ticks {
			if t.Source == one.Source && t.Endpoint == one.Endpoint && (r.Next.IsZero() || t.At.Before(r.Next)) {
				r.Next = t.At
			}
		}
		out = append(out, r)
	}
	sortRows(out, func(x, y sourceRow) int {
		return cmp.Or(cmp.Compare(x.urgency, y.urgency), cmp.Compare(y.lagShare(), x.lagShare()))
	})
	return out
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (r sourceRow) lagShare() float64 {
	if r.MaxLagSec <= 0 {
		return 0
	}
	return r.LagSec / r.MaxLagSec
}

func lagTone(r sourceRow) string {
	switch share := r.lagShare(); {
	case share > 1:
		return "fail"
	case share > 0.5:
		return "way"
	}
	return "done"
}

// chipOf says how an endpoint stands in a word, by what was found about it.
func chipOf(one view.SourceStatus, findings []view.Finding) (state, chip string, urgency int) {
	state, chip, urgency = "fresh", "ok", 9
	if one.Running > 0 {
		state, chip, urgency = "running", "run", 8
	}
	for _, f := range findings {
		if f.Subject.Source != one.Source || f.Subject.Endpoint != "" && f.Subject.Endpoint != one.Endpoint {
			continue
		}
		word, class, rank := chipOfFinding(f)
		if rank < urgency {
			state, chip, urgency = word, class, rank
		}
	}
	return state, chip, urgency
}

func chipOfFinding(f view.Finding) (state, chip string, urgency int) {
	switch {
	case f.Heals:
		return "heals", "heal", 6
	case f.Code == view.FoundPaused:
		return "stopped", "stop", 1
	case f.Code == view.FoundGap && f.Severity == view.Critical, f.Code == view.FoundRanges:
		return "gaps", "fail", 2
	case f.Severity == view.Critical:
		return "look at it", "fail", 3
	case f.Code == view.FoundQuarantined:
		return "quarantine", "warn", 5
	}
	return "look at it", "warn", 4
}

// hoursOf adds up what was stored of an endpoint in each of the last hours.
func hoursOf(one view.SourceStatus, sums []view.WorkSum, now time.Time) (hours []int64, stored int64) {
	hours = make([]int64, int(sparkRange/time.Hour))
	first := now.Truncate(time.Hour).Add(-sparkRange + time.Hour)
	for _, s := range sums {
		if s.Source != one.Source || s.Endpoint != one.Endpoint {
			continue
		}
		stored += storedItems(s)
		if n := int(s.From.Sub(first) / time.Hour); n >= 0 && n < len(hours) && !s.From.Before(first) {
			hours[n] += storedItems(s)
		}
	}
	return hours, stored
}

// shownTicks is how many of the next ticks are told.
const shownTicks = 8

func nextTicks(all []view.NextTick) []view.NextTick {
	all = slices.Clone(all)
	sortRows(all, func(a, b view.NextTick) int { return a.At.Compare(b.At) })
	return all[:min(len(all), shownTicks)]
}

// findingPage returns the page where somebody acts on a finding, and what to call it.
func findingPage(f view.FoldedFinding) (path, text string) {
	switch {
	case f.Code == view.FoundGap && f.More == 0:
		return stretchPath(f.Subject.Source, f.Subject.Endpoint, f.Gap.Window), "see it on the map"
	case f.Code == view.FoundGap, f.Code == view.FoundRanges:
		return sourcePath(f.Subject.Source, ""), "see them on the map"
	case f.Code == view.FoundQuarantined, f.Code == view.FoundErrors:
		return local("/errors", "source", f.Subject.Source), "see samples"
	case f.Code == view.FoundDeadEvents, f.Code == view.FoundReceiverAway:
		return "/errors", "see the events"
	case f.Code == view.FoundThrottled, f.Code == view.FoundQuotaLow:
		return "/rate", "see queue and rate"
	}
	return "", ""
}

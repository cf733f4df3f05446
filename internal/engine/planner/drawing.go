package planner

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// drawing is a plan while it is drawn and stored: the draft, which is the answer, and
// what is needed on the way. Nobody outside the package sees it.
type drawing struct {
	*Draft

	// What is stored with the plan and not shown.
	exprProto []byte
	namespace ingest.Namespace
	lag       *ingest.PlanLag // of a HARVEST
	lookback  time.Duration   // what later plans read again below the watermark
	strategy  slicing.Strategy
	refresh   *refresh.Spec // of an UPDATE by ids

	// What the cut goes by.
	sectors   []sector.Sector // what every window is read for; none: all of the list at once
	few       []sector.Sector // what some windows are read for alone
	drawn     bool            // both are known
	runs      int             // into how many parents are divided; zero: the parts are no parents
	opens     *slicing.Opening
	picks     *slicing.Choice
	narrowed  []sector.Narrow // what is read for a few of them, because the others have been read there
	left      sector.LeftOut  // what is not asked for, because the upstream refuses it
	within    []window.Window // what the owed windows are parts of; nil: they are all
	oldest    bool            // slices of a backfill begin at the old end
	forecast  bool            // sizes are wanted that change no slice
	itemBytes int64           // of one item so far
	wanted    []window.Window // sizes that could change the slices or the forecast
	idle      bool            // they change the forecast alone

	// The slices as they were cut, and when their tasks may begin.
	cuts        []slicing.Slice
	expressions *expressions
	quota       quota
	due         []time.Duration // delays of the slices; nil: all are due at once
	began       time.Time       // when slicing began; zero: due times are not fixed
	first       time.Time       // what the delays are counted from
}

// answerOrNil returns the draft, or nil if nothing was drawn.
func (d *drawing) answerOrNil() *Draft {
	if d == nil {
		return nil
	}
	return d.Draft
}

// drawPlan draws the plan that a request asks for against its inputs.
func drawPlan(c *spec.Compiled, b Inputs, r Request) (*drawing, error) {
	s := c.Snapshot
	protoJSON, err := c.Prototype.Canonical()
	if err != nil {
		return nil, err
	}
	op, err := operationOf(c, r)
	if err != nil {
		return nil, err
	}
	own, err := op.ownNamespace()
	if err != nil {
		return nil, err
	}
	total, err := op.totalWindow(b)
	if err != nil {
		return nil, err
	}
	var narrowed []sector.Narrow
	if len(b.Lags) > 0 {
		narrowed = sector.Narrowed(total.Owed, b.Lags, s.AllSectors(b.runs()), s.Window.Lookback.Std())
	}
	var left sector.LeftOut
	if s.OneSlice() && r.Sector == "" {
		total, narrowed = readAsOne(total, narrowed)
	}
	if r.Sector != "" {
		total, narrowed = narrowTo(r.Sector, total, narrowed)
	} else if total, narrowed, left, err = leaveOut(s, b, r, total, narrowed); err != nil {
		return nil, err
	}
	total.Empty = total.Empty || len(total.Owed) == 0
	d := &drawing{
		Draft: &Draft{
			Source: s.Source, Endpoint: s.Endpoint, Operation: s.Operation, Now: window.Instant(r.Now), NowSafe: total.NowSafe, Lag: total.Lag,
			Empty: total.Empty, Reason: total.Reason, Explain: total.Explain, Skipped: orEmpty(total.Skipped), Waiting: orEmpty(total.Waiting), Slices: []DraftSlice{},
			Fingerprint: c.Fingerprint, ExprHash: fingerprint.Bytes(protoJSON), Warnings: orEmpty(c.Warnings), owed: total.Owed,
		},
		exprProto: protoJSON, namespace: own, lag: op.planLag(total.Lag, b), lookback: s.Window.Lookback.Std(), strategy: s.Slicing.Strategy,
		itemBytes: b.ItemBytes, forecast: r.Forecast,
	}
	if d.Empty {
		return d, nil
	}
	d.Window = &total.Window
	d.narrowed, d.runs, d.left = narrowed, b.runs(), left
	d.LeftOut = append(d.LeftOut, slices.Concat(left.Sectors, left.Parents)...)
	d.opens = d.openingOf(c, b)
	d.picks = d.choiceOf(b, r)
	return d, op.cutSlices(d, b)
}

// readAsOne joins what all sectors owe into one window, because a request names no upper bound: what lies in between comes too.
// What a few sectors owe outside of it is read for them alone, from where it begins.
func readAsOne(total window.Total, narrowed []sector.Narrow) (window.Total, []sector.Narrow) {
	if len(narrowed) == 0 {
		return total.AsOne(), nil
	}
	total.Owed = sector.OwedByAll(total.Owed, narrowed)
	total = total.AsOne()
	narrowed = sector.Outside(narrowed, total.Owed)
	for _, n := range narrowed {
		total.Owed = append(slices.Clip(total.Owed), n.Window)
	}
	total.Owed = window.Union(total.Owed)
	return total, narrowed
}

// narrowTo leaves of a plan what one sector owes while others have been read there. A run of parents that owes it is read as a run.
func narrowTo(name string, total window.Total, narrowed []sector.Narrow) (window.Total, []sector.Narrow) {
	var own []sector.Narrow
	var left []window.Window
	for _, n := range narrowed {
		if few := slices.DeleteFunc(slices.Clone(n.Only), func(one string) bool { return !sector.Meet(one, name) }); len(few) > 0 {
			own, left = append(own, sector.Narrow{Window: n.Window, Only: few}), append(left, n.Window)
		}
	}
	if len(left) == 0 {
		total.Empty, total.Owed, total.Reason = true, nil, name+" owes nothing in the time that other partitions have been read for"
		return total, nil
	}
	left = window.Union(left)
	total.Window = window.Window{From: left[0].From, To: left[len(left)-1].To}
	total.Owed, total.Skipped, total.Waiting = left, window.Subtract(total.Window, left), nil
	return total, own
}

// cutTime makes slices of time with what is known about their sizes (S§5.3).
func (d *drawing) cutTime(s spec.Snapshot, selection string, known Estimates) error {
	request := slicingRequest(s, d.owed)
	request.Within = d.within
	request.NewestFirst = request.NewestFirst && !d.oldest
	if !d.drawn {
		d.sectors, d.few = sector.Asked(s.AllSectors(d.runs), d.owed, d.narrowed)
		d.sectors = d.left.Less(d.sectors)
	}
	if len(d.sectors)+len(d.few) > 0 {
		known = nil // sizes are those of all sectors together, or of one: of none that is asked for
	}
	if known != nil && s.CutsBySize() {
		request.Estimates = known.sizeOf
	}
	result, err := d.cutSectors(request)
	if err != nil {
		return err
	}
	d.wanted, d.Stats = orEmpty(result.Wanted), result.Stats
	d.forecastEffort(s.Operation, result, request.Steps, d.sizeRanges(s, known))
	return d.addCuts(s, selection, result.Slices)
}

// cutSectors cuts the windows that are owed for every sector that is asked for. What only a few sectors owe is cut by
// itself: who reads it counts as all.
func (d *drawing) cutSectors(request slicing.Request) (slicing.Result, error) {
	owed := request.Owed
	full := sector.OwedByAll(owed, d.narrowed)
	var out slicing.Result
	if len(full) > 0 && (len(d.sectors) > 0 || len(d.few) == 0) {
		request.Owed = full
		result, err := slicing.Plan(request)
		if err != nil {
			return result, err
		}
		out, out.Slices = result, slicing.MarkPicks(slicing.MarkOpening(slicing.ForSectors(result.Slices, d.sectors), d.opens), d.picks)
	}
	for _, n := range d.narrowed {
		var asked []sector.Sector
		for _, s := range d.few {
			if slices.Contains(n.Only, s.Name) {
				asked = append(asked, s)
			}
		}
		if request.Owed = window.Within(n.Window, owed); len(request.Owed) == 0 || len(asked) == 0 {
			continue
		}
		result, err := slicing.Plan(request)
		if err != nil {
			return result, err
		}
		out.Slices = append(out.Slices, slicing.ForFew(result.Slices, asked, len(n.Only))...)
		out.Stats.Linear += result.Stats.Linear
	}
	return out, nil
}

// countSectors returns how many sectors the windows of the plan are read for: all of the list, or else those few that read
// some windows alone. Those that are left out count: a window is not read without them.
func (d *drawing) countSectors() int {
	if len(d.sectors) > 0 {
		return len(d.sectors) + len(d.left.Sectors)
	}
	return len(d.few)
}

// addCuts takes over the slices as they were cut, and gives each its expression and its
// signature.
func (d *drawing) addCuts(s spec.Snapshot, selection string, cuts []slicing.Slice) error {
	expressions, err := newExpressions(s, selection)
	if err != nil {
		return err
	}
	d.cuts, d.expressions = cuts, expressions
	d.setAsideQuota(s, cuts)
	d.Slices = make([]DraftSlice, len(cuts))
	for i, cut := range cuts {
		expr, err := expressions.expressionOf(cut.Asked)
		if err != nil {
			return err
		}
		d.Slices[i] = DraftSlice{
			From: cut.Window.From, To: cut.Window.To, Partition: sector.NameOf(cut.Spec.Sector), Range: cut.Spec.Range, Capped: cut.Spec.Telemetry.Capped, Estimate: cut.Spec.Telemetry.Estimate,
			Signature: cut.Spec.Signature(s.Source, s.Endpoint, string(s.Operation), fingerprint.Bytes(expr)),
		}
	}
	return nil
}

// slicingRequest returns how the source wants windows to be cut.
func slicingRequest(s spec.Snapshot, owed []window.Window) slicing.Request {
	lag := time.Duration(0)
	if s.Window.SafetyLag != nil {
		lag = s.Window.SafetyLag.Std()
	}
	known := traitsOf(s.Operation)
	return slicing.Request{
		Owed: owed, Grid: s.Filter.Cut, Config: s.Slicing, PageSize: s.Paging.Size, SafetyLag: lag,
		Order: orderOf(s), Precision: string(s.Filter.Precision), Paging: string(s.Paging.Type), Initial: s.Paging.Initial,
		MinWindow: s.Window.MinWindow.Std(), MaxWindow: s.Window.MaxWindow.Std(),
		Cap: int64(s.Paging.MaxResults), MaxPages: s.Paging.MaxPages, NewestFirst: known.newestFirst,
		Steps: stepsOf(s), Priority: known.priority, OneUnit: s.Ends() == query.OneUnit, Whole: s.OneSlice(),
	}
}

// orderOf returns the order in which items come, as far as the source declares it: the way
// it names, rising where pages follow the date, by the date where it is sorted by it from either end, and
// nothing where the upstream decides.
func orderOf(s spec.Snapshot) string {
	switch {
	case s.Window.Order == window.Descending:
		return s.Filter.Field + ":desc"
	case s.Paging.Type == paging.Time || s.Window.Order == window.Ascending:
		return s.Filter.Field + ":asc"
	case s.Window.Ordered:
		return s.Filter.Field
	}
	return ""
}

// orEmpty returns a list that is written as [] in JSON and not as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

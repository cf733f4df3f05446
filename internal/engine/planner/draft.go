package planner

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Draft is a plan before it is stored: the window with its explanation and the
// slices. It is a pure function of its inputs: the same inputs, the same bytes.
type Draft struct {
	Source      string           `json:"source"`
	Endpoint    string           `json:"endpoint"`
	Operation   ingest.Operation `json:"operation"`
	Now         time.Time        `json:"now"`
	Window      *window.Window   `json:"window"`
	NowSafe     time.Time        `json:"nowSafe"`
	Lag         window.Lag       `json:"safetyLag,omitzero"` // of a HARVEST
	Empty       bool             `json:"empty"`
	Reason      string           `json:"reason,omitempty"`
	Explain     []window.Step    `json:"explain"`
	Skipped     []window.Window  `json:"skipped"`
	Waiting     []window.Window  `json:"waiting"`
	Slices      []DraftSlice     `json:"slices"`
	Fingerprint string           `json:"specFingerprint"`
	ExprHash    string           `json:"exprProtoHash"`
	Warnings    []spec.Warning   `json:"warnings"`
	Stats       slicing.Stats    `json:"slicing"`
	Forecast    slicing.Outlook  `json:"forecast"`
	Quotas      []gate.Prospect  `json:"quotas,omitempty"` // of each rate key
	Rolled      int              `json:"rolled,omitempty"` // slices that wait for a later window of the quota
	Wanted      []window.Window  `json:"-"`                // sizes that could change the slices
	Untold      bool             `json:"-"`                // the upstream was asked for sizes, and nobody could tell some of them

	quota       quota
	cuts        []slicing.Slice
	due         []time.Duration // delays of the slices; nil: all are due at once
	began       time.Time       // when slicing began; zero: due times are not fixed
	first       time.Time       // what the delays are counted from
	itemBytes   int64
	forecast    bool // sizes are wanted that change no slice
	oldest      bool // slices of a backfill begin at the old end
	idle        bool // all that is wanted is of that kind
	expressions *expressions
	owed        []window.Window
	within      []window.Window // what the owed windows are parts of; nil: they are all
	exprProto   []byte
	namespace   ingest.Namespace
	lag         *ingest.PlanLag
	lookback    time.Duration // what later plans read again below the watermark
	strategy    slicing.Strategy
	refresh     *refresh.Spec // of an UPDATE by ids
}

// DraftSlice is one slice of a draft.
type DraftSlice struct {
	From      time.Time      `json:"from,omitzero"`
	To        time.Time      `json:"to,omitzero"`
	Range     *slicing.Range `json:"range,omitempty"` // of ids, in place of a window
	Signature string         `json:"signature"`

	Due      time.Time         `json:"due,omitzero"` // waits for a later window of the quota
	Estimate *slicing.Estimate `json:"estimate,omitempty"`
	Capped   bool              `json:"capped,omitempty"` // holds more than the upstream serves, and cannot be cut
}

// Request is what a user or a schedule asked for.
type Request struct {
	Now      time.Time
	From, To *time.Time
	// Campaign names a BACKFILL that is taken up again; without a name it is
	// known by its question and its range as asked for.
	Campaign string
	// Typed is the range as it was written, such as -30d: the same words again
	// are the same campaign, although they mean other instants by then (D§5.8).
	Typed string
	// Only narrows a HARVEST from From to To to these stretches, also those whose
	// retry is not due yet: somebody wants exactly them. The rest is skipped.
	Only []window.Window
	// RetryBefore lets what failed before this instant be tried again, also where its
	// retry is not due yet: somebody asked for it then.
	RetryBefore time.Time
	// Of is the part of a stored campaign that is planned; nil: all of a window.
	Of *Part
	// Refresh is what an UPDATE looks at.
	Refresh Refresh
	// Process names the process that asks, as in leases: who joins the plan is told.
	Process string
	Offline bool // no upstream is asked for sizes
	// Forecast wants sizes also where they do not change the slices; Count lets
	// the upstream be asked for those, once for each stretch that is read.
	Forecast, Count bool
	// Estimates are the sizes known so far. Nil: nobody is asked, and slices
	// are cut by length alone.
	Estimates Estimates
	// TriggerKey identifies the trigger; the same trigger twice is one plan.
	TriggerKey string
	Scheduler  string
	Type       ingest.TriggerType
	// By is the operator whose act this is, with the reason that was given.
	By ingest.Act
}

// Owed are the stretches the plan reads, without what is settled.
func (d *Draft) Owed() []window.Window { return d.owed }

// Books are what a draft is drawn against.
type Books struct {
	Own     coverage.State // of the plan's own namespace
	Known   bool           // there is one
	Mended  time.Time      // when what may have made it fail was changed last
	Forward *time.Time     // the watermark of HARVEST on the same question; a BACKFILL does not pass it
	// Candidates are what an UPDATE by ids works on.
	Candidates Candidates
	ItemBytes  int64               // of one item so far; zero: nothing was read yet
	Uses       map[string]gate.Use // how the rate keys stand; what is missing was never used
	// Lateness is what the safety lag adapts to; nil: it is the declared one.
	Lateness *window.Lateness
}

// Draw makes the draft of a plan.
func Draw(c *spec.Compiled, b Books, r Request) (*Draft, error) {
	s := c.Snapshot
	protoJSON, err := c.Prototype.Canonical()
	if err != nil {
		return nil, err
	}
	protoHash := fingerprint.Bytes(protoJSON)
	op, err := operationOf(c, r)
	if err != nil {
		return nil, err
	}
	own, err := op.namespace()
	if err != nil {
		return nil, err
	}
	total, err := op.totalWindow(b)
	if err != nil {
		return nil, err
	}
	total.Empty = total.Empty || len(total.Owed) == 0
	d := &Draft{
		Source: s.Source, Endpoint: s.Endpoint, Operation: s.Operation, Now: window.Instant(r.Now), NowSafe: total.NowSafe, Lag: total.Lag,
		Empty: total.Empty, Reason: total.Reason, Explain: total.Explain, Skipped: orEmpty(total.Skipped), Waiting: orEmpty(total.Waiting), Slices: []DraftSlice{},
		Fingerprint: c.Fingerprint, ExprHash: protoHash, Warnings: orEmpty(c.Warnings),
		owed: total.Owed, exprProto: protoJSON, namespace: own, itemBytes: b.ItemBytes, forecast: r.Forecast,
		lag: op.planLag(total.Lag, b), lookback: s.Window.Lookback.Std(), strategy: s.Slicing.Strategy,
	}
	if d.Empty {
		return d, nil
	}
	d.Window = &total.Window
	return d, op.cut(d, b)
}

func (b Books) cursor() *time.Time {
	if !b.Known || b.Own.Cursor.IsZero() {
		return nil
	}
	return &b.Own.Cursor
}

func (b Books) waiting(r Request) (out []window.Window) {
	if b.cursor() == nil {
		return nil
	}
	mended := b.Mended
	if r.RetryBefore.After(mended) {
		mended = r.RetryBefore
	}
	for _, seg := range coverage.Waiting(b.Own.Segments, r.Now, mended) {
		out = append(out, seg.Window)
	}
	return out
}

// done are the stretches of the book that need no reading.
func (b Books) done() (out []window.Window) {
	for _, seg := range b.Own.Segments {
		if seg.Done() {
			out = append(out, seg.Window)
		}
	}
	return out
}

// waitingOf is what of a stretch failed and is not to be tried yet. Whoever asks in
// person does not wait: what is owed stands in the tables, not in the ledger.
func (b Books) waitingOf(w window.Window, r Request) (out []window.Window) {
	if r.Type == ingest.TriggerManual {
		return nil
	}
	for _, part := range b.waiting(r) {
		if part = part.Intersect(w); !part.Empty() {
			out = append(out, part)
		}
	}
	return out
}

// cutTime makes slices of time with what is known about their sizes (S§5.3).
func (d *Draft) cutTime(s spec.Snapshot, selection string, known Estimates) error {
	request := slicingRequest(s, d.owed)
	request.Within = d.within
	request.NewestFirst = request.NewestFirst && !d.oldest
	if known != nil && s.CutsBySize() {
		request.Estimates = known.lookup
	}
	result, err := slicing.Plan(request)
	if err != nil {
		return err
	}
	d.Wanted, d.Stats = orEmpty(result.Wanted), result.Stats
	d.foresee(s.Operation, result, request.Steps, d.sizesOnly(s, known))
	return d.add(s, selection, result.Slices)
}

// add writes the expression of each slice and gives it its identity.
func (d *Draft) add(s spec.Snapshot, selection string, cuts []slicing.Slice) error {
	expressions, err := newExpressions(s, selection)
	if err != nil {
		return err
	}
	d.cuts, d.expressions = cuts, expressions
	d.setAside(s, cuts)
	d.Slices = make([]DraftSlice, len(cuts))
	for i, cut := range cuts {
		expr, err := expressions.of(cut.Asked)
		if err != nil {
			return err
		}
		d.Slices[i] = DraftSlice{
			From: cut.Window.From, To: cut.Window.To, Range: cut.Spec.Range, Capped: cut.Spec.Telemetry.Capped, Estimate: cut.Spec.Telemetry.Estimate,
			Signature: cut.Spec.Signature(s.Source, s.Endpoint, string(s.Operation), fingerprint.Bytes(expr)),
		}
	}
	return nil
}

func slicingRequest(s spec.Snapshot, owed []window.Window) slicing.Request {
	lag := time.Duration(0)
	if s.Window.SafetyLag != nil {
		lag = s.Window.SafetyLag.Std()
	}
	traits := traitsOf(s.Operation)
	return slicing.Request{
		Owed: owed, Grid: s.Filter.Cut, Config: s.Slicing, PageSize: s.Paging.Size, SafetyLag: lag,
		Order: s.Filter.Field + ":asc", Precision: string(s.Filter.Precision), Paging: string(s.Paging.Type), Initial: s.Paging.Initial,
		MinWindow: s.Window.MinWindow.Std(), MaxWindow: s.Window.MaxWindow.Std(),
		Cap: int64(s.Paging.MaxResults), MaxPages: s.Paging.MaxPages, NewestFirst: traits.newestFirst,
		Steps: stepsOf(s), Priority: traits.priority, OneUnit: s.NamesUnit(),
	}
}

// orEmpty keeps a list a list in JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

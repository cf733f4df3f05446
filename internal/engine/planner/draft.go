package planner

import (
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/query"
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
	Empty       bool             `json:"empty"`
	Reason      string           `json:"reason,omitempty"`
	Explain     []window.Step    `json:"explain"`
	Skipped     []window.Window  `json:"skipped"`
	Waiting     []window.Window  `json:"waiting"`
	Slices      []DraftSlice     `json:"slices"`
	Fingerprint string           `json:"specFingerprint"`
	ExprHash    string           `json:"exprProtoHash"`
	Warnings    []spec.Warning   `json:"warnings"`

	owed      []window.Window
	exprProto []byte
	namespace ingest.Namespace
}

// DraftSlice is one slice of a draft.
type DraftSlice struct {
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Signature string    `json:"signature"`

	spec, expr []byte
	exprHash   string
}

// Request is what a user or a schedule asked for.
type Request struct {
	Now      time.Time
	From, To *time.Time
	// TriggerKey identifies the trigger; the same trigger twice is one plan.
	TriggerKey string
	Scheduler  string
	Type       ingest.TriggerType
}

// Draw makes the draft of a HARVEST plan.
func Draw(c *spec.Compiled, book coverage.State, known bool, r Request) (*Draft, error) {
	s := c.Snapshot
	if err := s.Runnable(); err != nil {
		return nil, err
	}
	protoJSON, err := c.Prototype.Canonical()
	if err != nil {
		return nil, err
	}
	protoHash := fingerprint.Bytes(protoJSON)
	namespace, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	total, err := totalWindow(s, book, known, r)
	if err != nil {
		return nil, err
	}
	d := &Draft{
		Source: s.Source, Endpoint: s.Endpoint, Operation: s.Operation, Now: window.Instant(r.Now), NowSafe: total.NowSafe,
		Empty: total.Empty, Reason: total.Reason, Explain: total.Explain, Skipped: orEmpty(total.Skipped), Waiting: orEmpty(total.Waiting), Slices: []DraftSlice{},
		Fingerprint: c.Fingerprint, ExprHash: protoHash, Warnings: orEmpty(c.Warnings),
		owed: total.Owed, exprProto: protoJSON, namespace: namespace,
	}
	if d.Empty {
		return d, nil
	}
	d.Window = &total.Window
	return d, d.cut(s, c.Prototype.Selection)
}

// totalWindow is the window of the plan and what of it is not asked for now:
// settled stretches, and failed ones whose time has not come (D§5.7).
func totalWindow(s spec.Snapshot, book coverage.State, known bool, r Request) (window.Total, error) {
	in := window.Inputs{Now: r.Now, UserFrom: r.From, UserTo: r.To}
	if known && !book.Cursor.IsZero() {
		in.Cursor = &book.Cursor
		lookback := s.Window.Lookback.Std()
		if at, open := coverage.FirstUnsettled(book.Origin, book.Segments, lookback); open {
			in.FirstUnsettled = &at
		}
		if everything := (window.Window{From: book.Origin, To: r.Now}); !everything.Empty() {
			in.Settled = coverage.Settled(book.Segments, everything, lookback)
		}
		for _, seg := range coverage.Waiting(book.Segments, r.Now) {
			in.Waiting = append(in.Waiting, seg.Window)
		}
	}
	total, err := window.Harvest(s.Window, in)
	total.Empty = total.Empty || len(total.Owed) == 0
	return total, err
}

func (d *Draft) cut(s spec.Snapshot, selection string) error {
	lag := time.Duration(0)
	if s.Window.SafetyLag != nil {
		lag = s.Window.SafetyLag.Std()
	}
	slices, err := slicing.Cut(slicing.Request{
		Owed: d.owed, Grid: s.Filter.Cut, Config: s.Slicing, PageSize: s.Paging.Size, SafetyLag: lag,
		Order: s.Filter.Field + ":asc", Precision: string(s.Filter.Precision), Paging: string(s.Paging.Type), Initial: s.Paging.Initial,
	})
	if err != nil {
		return err
	}
	for _, cut := range slices {
		expr, err := query.Prototype{Where: s.Expression(cut.Window), Selection: selection}.Canonical()
		if err != nil {
			return err
		}
		specJSON, err := json.Marshal(cut.Spec)
		if err != nil {
			return err
		}
		hash := fingerprint.Bytes(expr)
		d.Slices = append(d.Slices, DraftSlice{
			From: cut.Window.From, To: cut.Window.To, spec: specJSON, expr: expr, exprHash: hash,
			Signature: slicing.Signature(s.Source, s.Endpoint, string(s.Operation), hash, cut.Window),
		})
	}
	return nil
}

// orEmpty keeps a list a list in JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

package query

import (
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Program is a Config ready to check and render expressions. It is safe for
// concurrent use.
type Program struct {
	config  Config
	checker *checker
	rules   []compiledRule
	window  *Calendar // nil: the endpoint has no date filter
}

// Rendered is an expression in the upstream's words.
type Rendered struct {
	Query  string            // empty: nothing to say
	Params map[string]string // by standard key
	// Window reports that the range on the filter's field, which every item must
	// lie in, is part of Query or Params. If not, the request's own templates
	// must write it.
	Window bool
}

// Section is a Config that was found to be sound, with its rules compiled.
type Section struct {
	config Config
	rules  []compiledRule
}

// Prepare checks the section alone, and compiles its rules once for all filters.
func Prepare(cfg Config) (*Section, error) {
	cfg = cfg.WithDefaults()
	rules, err := cfg.compileRules()
	if err != nil {
		return nil, err
	}
	return &Section{cfg, rules}, nil
}

// Compile checks the section and makes it ready for a filter.
func Compile(cfg Config, filter DateFilter) (*Program, error) {
	s, err := Prepare(cfg)
	if err != nil {
		return nil, err
	}
	return s.Compile(filter)
}

// Compile makes the section ready for a filter. The zero filter is that of an endpoint
// which does not select by date. What a run will ask for, the section's conditions
// with the window of a slice, is rendered once as a trial, so that a source which
// cannot say it is refused now and not in the night.
func (s *Section) Compile(filter DateFilter) (*Program, error) {
	p := &Program{config: s.config, rules: s.rules}
	if filter.Field != "" {
		filter = filter.WithDefaults()
		if err := filter.Validate(); err != nil {
			return nil, err
		}
		calendar, err := filter.Resolve()
		if err != nil {
			return nil, err
		}
		p.window = &calendar
	}
	p.checker = newChecker(s.config, p.window)
	return p, p.tryRules()
}

// With returns the same section ready for another filter.
func (p *Program) With(filter DateFilter) (*Program, error) {
	return (&Section{p.config, p.rules}).Compile(filter)
}

func (p *Program) tryRules() error {
	asked := p.config.Where
	if p.window != nil {
		day := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		asked = Localise(asked, p.window.filter.Field, window.Window{From: day, To: day.AddDate(0, 1, 0)})
	}
	_, findings := p.writeExpr(asked, Strict)
	var bad problems
	for _, f := range findings {
		if f.IsError() {
			bad.addProblem("where", "%s", f)
		}
	}
	return errors.Join(bad.list...)
}

// Check holds an expression against the fields, and a range on the filter's
// field against the filter.
func (p *Program) Check(e Expr, mode Mode) []Finding { return p.checker.checkExpr(e, mode) }

// Render checks and renders an expression for a run: with an error among the
// findings there is nothing to send.
func (p *Program) Render(e Expr) (Rendered, []Finding) { return p.renderExpr(e, Strict) }

func (p *Program) renderExpr(e Expr, mode Mode) (Rendered, []Finding) {
	checked := report{p.Check(e, mode)}
	if checked.hasErrors() {
		return Rendered{}, checked.findings
	}
	out, findings := p.writeExpr(e, mode)
	return out, append(checked.findings, findings...)
}

// WritesWindow reports whether a rule writes the window of a slice. Without one
// the request's own templates must.
func (p *Program) WritesWindow() bool {
	if p.window == nil {
		return false
	}
	kind := atomKind{field: p.window.filter.Field, op: OpRange, value: p.window.valueType()}
	return p.chooseRule(kind, EmitQuery) != nil || p.chooseRule(kind, EmitParams) != nil
}

// chooseRule takes the most specific rule that fits. Validate made sure that there
// is one at most.
func (p *Program) chooseRule(k atomKind, emit Emit) *compiledRule {
	var best *compiledRule
	for i := range p.rules {
		r := &p.rules[i]
		if r.Emit == emit && r.fitsAtom(k) && (best == nil || r.countDemands() > best.countDemands()) {
			best = r
		}
	}
	return best
}

package health

// Tally counts the actions of a run. What a planner does is told by its plan, and
// a circuit that opens by the end of the run (circuitOpen).
type Tally struct {
	LowerRate        int `json:"LOWER_RATE,omitempty"`
	LowerConcurrency int `json:"LOWER_CONCURRENCY,omitempty"`
	ShrinkPage       int `json:"SHRINK_PAGE,omitempty"`
	Reslice          int `json:"RESLICE,omitempty"`
	PausePlanning    int `json:"PAUSE_PLANNING,omitempty"`
	SetAside         int `json:"SET_ASIDE,omitempty"`
	StopSource       int `json:"STOP_SOURCE,omitempty"`
}

// counterOf returns where an action is counted, or nil.
func (t *Tally) counterOf(a Action) *int {
	return map[Action]*int{
		LowerRate: &t.LowerRate, LowerConcurrency: &t.LowerConcurrency, ShrinkPage: &t.ShrinkPage, Reslice: &t.Reslice,
		PausePlanning: &t.PausePlanning, SetAside: &t.SetAside, StopSource: &t.StopSource,
	}[a]
}

// Count adds to an action.
func (t *Tally) Count(a Action, n int) {
	if counter := t.counterOf(a); counter != nil {
		*counter += n
	}
}

// Times returns how often an action was taken.
func (t Tally) Times(a Action) int {
	if counter := t.counterOf(a); counter != nil {
		return *counter
	}
	return 0
}

// Add sums two tallies.
func (t Tally) Add(o Tally) Tally {
	return Tally{
		t.LowerRate + o.LowerRate, t.LowerConcurrency + o.LowerConcurrency, t.ShrinkPage + o.ShrinkPage,
		t.Reslice + o.Reslice, t.PausePlanning + o.PausePlanning, t.SetAside + o.SetAside, t.StopSource + o.StopSource,
	}
}

// Actions lists all actions.
func Actions() []Action {
	return []Action{LowerRate, LowerConcurrency, ShrinkPage, RaiseLag, Reslice, OpenCircuit, PausePlanning, SetAside, StopSource}
}

// Remark is one thing that was done about a condition, for people.
type Remark struct {
	Condition Condition `json:"condition"`
	Action    Action    `json:"action,omitempty"`
	Page      int       `json:"page,omitempty"` // of the run; zero: not about one
	Text      string    `json:"text"`
}

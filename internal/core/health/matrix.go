package health

import (
	"fmt"
	"time"
)

// Condition is the name of something that is wrong. The list is closed.
type Condition string

// Conditions.
const (
	Throttled    Condition = "THROTTLED"      // the upstream asks for fewer requests
	Held         Condition = "HELD"           // a limit of our own lets nothing leave; shown, and no row of the matrix: the gate acts
	Slow         Condition = "SLOW"           // pages take long
	Failing      Condition = "FAILING"        // pages do not come at the first try
	RunsFailing  Condition = "RUNS_FAILING"   // runs fail for reasons that pass
	Down         Condition = "UPSTREAM_DOWN"  // run after run gets no answer at all
	HeavyPages   Condition = "HEAVY_PAGES"    // pages are large
	PageTooLarge Condition = "PAGE_TOO_LARGE" // one page is over the cap on a body
	PoisonPage   Condition = "POISON_PAGE"    // one page cannot be had while others come
	TooDeep      Condition = "TOO_DEEP"       // a slice has more pages than one should have
	EstimateOff  Condition = "ESTIMATE_OFF"   // a slice holds far more than was expected
	OverBudget   Condition = "OVER_BUDGET"    // a slice reached its budget or the upstream's cap
	Late         Condition = "LATE_ARRIVALS"  // items appear behind the watermark
	StoreBusy    Condition = "STORE_BUSY"     // writes wait for the database
	Overstocked  Condition = "OVERSTOCKED"    // too many tasks wait
	DeadTasks    Condition = "DEAD_TASKS"     // tasks are given up
	BadItem      Condition = "BAD_ITEM"       // L3: an item cannot be understood
	Fatal        Condition = "FATAL"          // L4: a person has to act
)

// Action is what is done about a condition. The list is closed.
type Action string

// Actions.
const (
	LowerRate        Action = "LOWER_RATE"
	LowerConcurrency Action = "LOWER_CONCURRENCY"
	ShrinkPage       Action = "SHRINK_PAGE"
	RaiseLag         Action = "RAISE_LAG"
	Reslice          Action = "RESLICE"
	OpenCircuit      Action = "OPEN_CIRCUIT"
	PausePlanning    Action = "PAUSE_PLANNING"
	SetAside         Action = "SET_ASIDE"   // one item goes to quarantine
	StopSource       Action = "STOP_SOURCE" // until an operator resumes it
)

// Rule is one row of the matrix.
type Rule struct {
	Condition Condition
	When      string // what is measured, for people
	Actions   []Action
	Ends      string // how the actions are taken back
	By        string // the room that acts

	// Of the rows that a Watch judges; elsewhere the room that acts has its own
	// arithmetic, and When repeats it.
	judged *judged
}

// judged is a row with levels: each level is one step of its actions.
type judged struct {
	of    kind
	value func([]Sample) float64
	// enter is passed by least samples: one level more. The last calm samples at
	// leave or below: one level less. Where an action halves what is measured,
	// leave is less than half of enter, or going back would bring the condition back.
	enter, leave float64
	least, calm  int
	most         int           // levels
	hold         time.Duration // between a change and a step back
	second       Action        // one that begins with the second level
	// mustHelp: a level that brought the value down by less than a fifth is taken
	// back and not tried again for a while. A slow upstream is not served better
	// by asking it less.
	mustHelp bool
}

const mega = 1 << 20

// Matrix returns everything that heals automatically: condition → action. The thresholds
// are the defaults; a source may declare others (Config).
func Matrix() []Rule { return matrixOf(defaults) }

// matrixOf returns the matrix of a source with its own thresholds. A condition ends well
// below where it begins: at a fifth of a share, at two fifths of a time or a size.
func matrixOf(c Config) []Rule {
	return []Rule{
		{
			Throttled, "429 for more than 5 % of the requests of five minutes (20 pages or more); each single 429 lowers the rate; five within five minutes cut the slice smaller",
			[]Action{LowerRate, LowerConcurrency, Reslice, PausePlanning},
			"the rate in steps of `rate.recover`; concurrency and planning when 20 pages in a row had at most 1 %; only the second level pauses planning",
			"internal/core/gate, internal/engine/heal", &judged{
				of: page, value: throttledShare, enter: c.ThrottledShare, leave: c.ThrottledShare / 5, least: 20, calm: 20, most: 2, hold: settle, second: PausePlanning,
			},
		},
		{
			Slow, "the slowest twentieth of the pages of five minutes takes more than 3 s (20 pages or more)",
			[]Action{ShrinkPage, LowerConcurrency}, "20 pages in a row below 1.2 s; at once where a step does not help, and then not tried for an hour",
			"internal/engine/heal, internal/engine/executor", &judged{
				of: page, value: meanLatency, enter: c.SlowPage.Std().Seconds(), leave: c.SlowPage.Std().Seconds() * 0.4, least: 20, calm: 20, most: 2, hold: settle, mustHelp: true,
			},
		},
		{
			Failing, "5 % of the last 50 pages did not come at the first try (429 apart), and two or more did not",
			[]Action{LowerConcurrency, Reslice}, "50 pages in a row with at most one",
			"internal/engine/heal, internal/engine/executor", &judged{
				of: page, value: failedShare, enter: c.FailedShare - 1e-9, leave: c.FailedShare / 5, least: recentPages, calm: recentPages, most: 2, hold: settle,
			},
		},
		{
			RunsFailing, "more than half of the last 20 runs failed for a reason that passes (of 11 or more)",
			[]Action{LowerConcurrency}, "five runs in a row went well",
			"internal/engine/heal", &judged{of: run, value: runsFailed, enter: 0.5, leave: 0, least: 11, calm: 5, most: 3},
		},
		{
			Down, "three runs in a row of an endpoint had no usable answer, and no other was answered meanwhile", []Action{OpenCircuit},
			"after one to two minutes, later two to four, one run tries; it got an answer", "internal/core/fault, internal/driver/store", nil,
		},
		{
			HeavyPages, "the largest twentieth of the pages of five minutes has more than 5 MB (5 pages or more)",
			[]Action{ShrinkPage}, "20 pages in a row below 2 MB; at once where a step does not help, and then not tried for an hour",
			"internal/engine/heal, internal/engine/executor", &judged{
				of: page, value: meanHeaviness, enter: float64(c.HeavyPageBytes), leave: float64(c.HeavyPageBytes) * 0.4, least: 5, calm: 20, most: 4, hold: settle, mustHelp: true,
			},
		},
		{
			PageTooLarge, "one answer is over the cap on a body", []Action{ShrinkPage}, "with the slice", "internal/engine/executor", nil,
		},
		{
			PoisonPage, "one page fails again in the third run of its task, or the second where there is no third, and the upstream answers something else",
			[]Action{ShrinkPage, SetAside, Reslice}, "after the item; the size grows back page by page", "internal/engine/executor", nil,
		},
		{
			TooDeep, fmt.Sprintf("%d pages of one slice and no end", c.MaxPagesSoft), []Action{Reslice}, "with the slice", "internal/engine/executor", nil,
		},
		{
			EstimateOff, fmt.Sprintf("%d times as many items as estimated, and %d pages or more", c.EstimateTimes, recentPages), []Action{Reslice}, "with the slice",
			"internal/engine/executor", nil,
		},
		{
			OverBudget, "`slicing.maxRequests`, `maxRecords`, `maxDurationSec`, `paging.maxPages` or `paging.maxResults` reached", []Action{Reslice}, "with the slice",
			"internal/engine/executor", nil,
		},
		{
			Late, "more than 0.5 % of what changed in seven days came late", []Action{RaiseLag}, "less than 0.1 %: one minute per plan",
			"internal/core/window", nil,
		},
		{
			StoreBusy, "the slowest twentieth of the writes of five minutes waits more than 0.2 s for the database, or takes 2 s to commit (20 pages or more)",
			[]Action{PausePlanning, LowerConcurrency}, "20 pages in a row below 0.05 s and 0.5 s", "internal/engine/heal, internal/engine/planner", &judged{
				of: page, value: meanQueueing, enter: 0.2, leave: 0.05, least: 20, calm: 20, most: 2, hold: settle,
			},
		},
		{
			Overstocked, "as many tasks of a partition wait as `work.maxWaiting` of patra.yaml allows (20,000)", []Action{PausePlanning}, "fewer wait",
			"internal/engine/planner", nil,
		},
		{
			DeadTasks, "more than half of the last 20 tasks that ended were given up (of 10 or more)", []Action{PausePlanning},
			"five tasks in a row ended well, or none ended for ten minutes", "internal/engine/heal, internal/engine/planner",
			&judged{of: task, value: runsFailed, enter: 0.5, leave: 0, least: 10, calm: 5, most: 1},
		},
		{
			BadItem, "an item cannot be read, or its detail cannot be had", []Action{SetAside}, "a later version can be read", "internal/core/extract", nil,
		},
		{
			Fatal, "the credential is refused, the first requests are all refused alike, nothing of a page can be understood, every answer lacks the same path, or the window is ignored", []Action{StopSource}, "`patra source resume`",
			"internal/engine/executor, internal/engine/planner", nil,
		},
	}
}

// LeastDead is how many tasks must be given up before DEAD_TASKS can hold: more than half of
// the fewest that are judged.
const LeastDead = 6

// settle is how long a step is left alone before it is taken back.
const settle = 30 * time.Second

// RuleOf returns the row of a condition.
func RuleOf(c Condition) (Rule, bool) {
	for _, r := range Matrix() {
		if r.Condition == c {
			return r, true
		}
	}
	return Rule{}, false
}

// Does reports whether a condition calls for an action at a level.
func (r Rule) Does(a Action, level int) bool {
	if level < 1 || r.judged != nil && r.judged.second == a && level < 2 {
		return false
	}
	for _, action := range r.Actions {
		if action == a {
			return true
		}
	}
	return false
}

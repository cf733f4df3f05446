package health

import (
	"fmt"
	"time"
)

// Watch follows one partition: it keeps the last samples and the level of each
// condition of the matrix that has levels. The zero value is not usable; see
// NewWatch. Instants handed to it should not go back.
type Watch struct {
	rules   []Rule
	limits  Config
	samples [3]recent
	states  []state
}

// state is where a condition stands.
type state struct {
	level   int
	since   time.Time // of the first level
	changed time.Time // of the last change
	judged  int64     // samples up to this one led to it
	news    time.Time // of the last sample
	before  float64   // what was measured when the last level was taken
	muted   time.Time // until then nothing is done: it did not help
}

// Change is one step of a condition.
type Change struct {
	Condition Condition
	From, To  int     // levels; zero: the condition is not in force
	Value     float64 // what was measured
	Futile    bool    // taken back because it did not help
	Quiet     bool    // taken back because nothing was heard
}

// Began reports a condition that was not in force before.
func (c Change) Began() bool { return c.From == 0 && c.To > 0 }

// Ended reports one that no longer is.
func (c Change) Ended() bool { return c.From > 0 && c.To == 0 }

// Worse reports a step up.
func (c Change) Worse() bool { return c.To > c.From }

func (c Change) String() string {
	text := fmt.Sprintf("%s level %d → %d", c.Condition, c.From, c.To)
	switch {
	case c.Futile:
		return text + ": it did not help"
	case c.Quiet:
		return text + ": nothing was measured"
	}
	return fmt.Sprintf("%s (%s)", text, measuredText(c.Condition, c.Value))
}

// measuredText returns a value with its unit.
func measuredText(c Condition, value float64) string {
	switch c {
	case Slow, StoreBusy:
		return fmt.Sprintf("%.2f s", value)
	case HeavyPages:
		return fmt.Sprintf("%.1f MB", value/mega)
	}
	return fmt.Sprintf("%.1f %%", 100*value)
}

// NewWatch returns the watch of a partition nothing is known of.
func NewWatch() *Watch {
	w := &Watch{samples: [3]recent{page: {most: most, aged: true}, run: {most: runs}, task: {most: runs}}}
	w.Limit(Config{})
	w.states = make([]state, len(w.rules))
	return w
}

// Limit sets the thresholds of the source. Levels and samples stay as they are.
func (w *Watch) Limit(c Config) {
	if c = c.WithDefaults(); c == w.limits {
		return
	}
	w.limits, w.rules = c, nil
	for _, r := range matrixOf(c) {
		if r.judged != nil {
			w.rules = append(w.rules, r)
		}
	}
}

// Page notes a page that came, and tells what that changes.
func (w *Watch) Page(s Sample, now time.Time) []Change { return w.noteSample(page, s, now) }

// Run notes how a run ended.
func (w *Watch) Run(well bool, now time.Time) []Change {
	return w.noteSample(run, Sample{Bad: !well}, now)
}

// Task notes how a task ended for good.
func (w *Watch) Task(well bool, now time.Time) []Change {
	return w.noteSample(task, Sample{Bad: !well}, now)
}

func (w *Watch) noteSample(k kind, s Sample, now time.Time) []Change {
	w.samples[k].addSample(s, now)
	for i, r := range w.rules {
		if r.judged.of == k {
			w.states[i].news = now
		}
	}
	return w.Judge(now)
}

// quiet is how long a condition of which nothing is heard keeps a level. Futile
// is how long a step that did not help is not taken again.
const (
	quiet  = 10 * time.Minute
	futile = time.Hour
	helps  = 0.8 // of what was measured before
)

// Judge looks at every condition. It is called with every sample, and now and
// then without one.
func (w *Watch) Judge(now time.Time) (out []Change) {
	for i, r := range w.rules {
		s, list := &w.states[i], &w.samples[r.judged.of]
		list.forgetOld(now)
		if c, changed := s.stepLevel(r, list.samplesAfter(s.judged), now); changed {
			s.judged = list.came
			out = append(out, c)
		}
	}
	return out
}

// stepLevel takes at most one level. Samples are judged once: those that led to a
// level are not used again to judge it, so two changes always have fresh samples
// between them.
func (s *state) stepLevel(r Rule, fresh []Sample, now time.Time) (Change, bool) {
	j, c := r.judged, Change{Condition: r.Condition, From: s.level, To: s.level}
	calm := fresh[max(len(fresh)-j.calm, 0):]
	if len(fresh) >= j.least {
		c.Value = j.value(fresh)
	}
	switch {
	case s.level > 0 && now.Sub(s.lastSample()) >= quiet:
		c.To, c.Quiet = s.level-1, true
	case s.level > 0 && len(fresh) < j.calm && now.Sub(s.changed) >= quiet && j.value(fresh) <= j.leave:
		c.To, c.Value = s.level-1, j.value(fresh) // too little work to ever have enough samples
	case c.Value > j.enter:
		switch {
		case now.Before(s.muted):
			return c, false
		case j.mustHelp && s.level > 0 && c.Value > helps*s.before:
			c.To, c.Futile, s.muted = 0, true, now.Add(futile)
		case s.level < j.most:
			c.To, s.before = s.level+1, c.Value
		default:
			return c, false
		}
	case s.level == 0:
		return c, false
	case len(calm) >= j.calm && j.value(calm) <= j.leave && now.Sub(s.changed) >= j.hold:
		c.To, c.Value = s.level-1, j.value(calm)
	default:
		return c, false
	}
	if c.Began() {
		s.since = now
	}
	s.level, s.changed = c.To, now
	return c, true
}

func (s *state) lastSample() time.Time {
	if s.news.After(s.changed) {
		return s.news
	}
	return s.changed
}

// InForce is a condition at its level.
type InForce struct {
	Condition Condition
	Level     int
	Since     time.Time
}

// InForce lists the conditions that hold, in the order of the matrix.
func (w *Watch) InForce() (out []InForce) {
	for i, s := range w.states {
		if s.level > 0 {
			out = append(out, InForce{w.rules[i].Condition, s.level, s.since})
		}
	}
	return out
}

// Adopt takes over what another process, or the one before, had found. It is
// taken back like what was found here.
func (w *Watch) Adopt(known []InForce, now time.Time) {
	for i, r := range w.rules {
		for _, k := range known {
			if s := &w.states[i]; k.Condition == r.Condition && k.Level > s.level {
				s.level, s.since, s.changed = min(k.Level, r.judged.most), k.Since, now
			}
		}
	}
}

// strongestLevel returns the strongest level that calls for an action, and of what.
func (w *Watch) strongestLevel(a Action) (level int, of Condition) {
	for i, r := range w.rules {
		if at := w.states[i].level; at > level && r.Does(a, at) {
			level, of = at, r.Condition
		}
	}
	return level, of
}

// Concurrency returns how many tasks may run at once where so many are declared.
func (w *Watch) Concurrency(declared int) int {
	level, _ := w.strongestLevel(LowerConcurrency)
	return min(declared, max(declared>>level, 1))
}

// PageSize returns how many items to ask for where so many are declared, and which
// condition makes it fewer.
func (w *Watch) PageSize(declared int) (int, Condition) {
	level, of := w.strongestLevel(ShrinkPage)
	return max(declared>>level, 1), of
}

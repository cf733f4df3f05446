package health

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// story feeds a watch with a page a second.
type story struct {
	*Watch
	now     time.Time
	changes []Change
}

func newStory() *story { return &story{Watch: NewWatch(), now: noon} }

func (s *story) size(declared int) int {
	size, _ := s.PageSize(declared)
	return size
}

func (s *story) pages(n int, p Sample) *story {
	for range n {
		s.now = s.now.Add(time.Second)
		s.changes = append(s.changes, s.Page(p, s.now)...)
	}
	return s
}

func (s *story) runs(n int, well bool) *story {
	for range n {
		s.changes = append(s.changes, s.Run(well, s.now)...)
	}
	return s
}

func (s *story) tasks(n int, well bool) *story {
	for range n {
		s.changes = append(s.changes, s.Task(well, s.now)...)
	}
	return s
}

func (s *story) passes(d time.Duration) *story {
	for end := s.now.Add(d); s.now.Before(end); s.now = s.now.Add(time.Second) {
		s.changes = append(s.changes, s.Judge(s.now)...)
	}
	return s
}

var (
	good      = Sample{Requests: 1, Took: 100 * time.Millisecond, Bytes: 1000}
	slow      = Sample{Requests: 1, Took: 4 * time.Second}
	slower    = Sample{Requests: 1, Took: 9 * time.Second}
	throttled = Sample{Requests: 2, Throttled: 1}
	retried   = Sample{Requests: 2, Failed: 1}
	heavy     = Sample{Requests: 1, Bytes: 6 * mega}
	queued    = Sample{Requests: 1, Queued: 300 * time.Millisecond}
)

func TestConditions(t *testing.T) {
	for name, c := range map[string]struct {
		story       func(*story)
		want        map[Condition]int
		concurrency int // of 8
		page        int // of 100
	}{
		"well":                            {func(s *story) { s.pages(300, good) }, nil, 8, 100},
		"too few to tell":                 {func(s *story) { s.pages(19, slow) }, nil, 8, 100},
		"slow":                            {func(s *story) { s.pages(20, slow) }, map[Condition]int{Slow: 1}, 4, 50},
		"slow, and half as slow":          {func(s *story) { s.pages(20, slower).pages(20, slow) }, map[Condition]int{Slow: 2}, 2, 25},
		"as slow as before":               {func(s *story) { s.pages(40, slow) }, nil, 8, 100},
		"slow and then fast":              {func(s *story) { s.pages(20, slow).pages(30, good) }, nil, 8, 100},
		"slow and then fast, but just so": {func(s *story) { s.pages(20, slow).pages(29, good) }, map[Condition]int{Slow: 1}, 4, 50},
		"slow and nothing more":           {func(s *story) { s.pages(20, slow).passes(11 * time.Minute) }, nil, 8, 100},
		"heavy":                           {func(s *story) { s.pages(5, heavy) }, map[Condition]int{HeavyPages: 1}, 8, 50},
		"throttled":                       {func(s *story) { s.pages(20, throttled) }, map[Condition]int{Throttled: 1}, 4, 100},
		"throttled, and still":            {func(s *story) { s.pages(40, throttled) }, map[Condition]int{Throttled: 2}, 2, 100},
		"throttled now and then":          {func(s *story) { s.pages(100, good).pages(2, throttled).pages(100, good) }, nil, 8, 100},
		"retried":                         {func(s *story) { s.pages(46, good).pages(4, retried) }, map[Condition]int{Failing: 1}, 4, 100},
		"one page retried":                {func(s *story) { s.pages(60, good).pages(1, retried) }, nil, 8, 100},
		"the database waits":              {func(s *story) { s.pages(20, queued) }, map[Condition]int{StoreBusy: 1}, 4, 100},
		"ten runs failed":                 {func(s *story) { s.runs(10, false) }, nil, 8, 100},
		"eleven runs failed":              {func(s *story) { s.runs(11, false) }, map[Condition]int{RunsFailing: 1}, 4, 100},
		"all runs fail":                   {func(s *story) { s.runs(99, false) }, map[Condition]int{RunsFailing: 3}, 1, 100},
		"and go well again":               {func(s *story) { s.runs(33, false).runs(15, true) }, nil, 8, 100},
		"a failure in between":            {func(s *story) { s.runs(11, false).runs(4, true).runs(1, false).runs(4, true) }, map[Condition]int{RunsFailing: 1}, 4, 100},
		"tasks are given up":              {func(s *story) { s.tasks(10, false) }, map[Condition]int{DeadTasks: 1}, 8, 100},
		"tasks end well again":            {func(s *story) { s.tasks(10, false).tasks(5, true) }, nil, 8, 100},
	} {
		s := newStory()
		c.story(s)
		got := map[Condition]int{}
		for _, f := range s.InForce() {
			got[f.Condition] = f.Level
		}
		same := len(got) == len(c.want)
		for condition, level := range c.want {
			same = same && got[condition] == level
		}
		if !same || s.Concurrency(8) != c.concurrency || s.size(100) != c.page {
			t.Errorf("%s: %v, %d at once, pages of %d; want %v, %d, %d\n%v", name, got, s.Concurrency(8), s.size(100), c.want, c.concurrency, c.page, s.changes)
		}
	}
}

// What does not help is taken back, and not tried again for an hour.
func TestFutileStepsAreTakenBack(t *testing.T) {
	s := newStory().pages(60*60, slow)
	if len(s.changes) != 2 || !s.changes[1].Futile {
		t.Fatalf("%v", s.changes)
	}
	s.pages(41, slow)
	if len(s.changes) != 3 || !s.changes[2].Began() {
		t.Errorf("%v", s.changes)
	}
}

// A source with a page every few minutes never has twenty of them in five: its
// conditions end too, and not before all that was heard was good.
func TestATrickleEndsConditions(t *testing.T) {
	for name, c := range map[string]struct {
		bad, then Sample
		want      bool
	}{
		"slow":             {slow, good, false},
		"slow, and still":  {slow, slow, true},
		"the database":     {queued, good, false},
		"throttled":        {throttled, good, false},
		"throttled, still": {throttled, throttled, true},
	} {
		s := newStory().pages(20, c.bad)
		if len(s.InForce()) == 0 {
			t.Fatalf("%s: nothing began", name)
		}
		for range 30 {
			s.passes(2*time.Minute).pages(1, c.then)
		}
		if got := len(s.InForce()) > 0; got != c.want {
			t.Errorf("%s: in force %v after an hour: %v", name, got, s.changes)
		}
	}
}

// What another process found is taken over, and taken back when it has ended.
func TestAdopt(t *testing.T) {
	s := newStory()
	s.Adopt([]InForce{{HeavyPages, 99, noon.Add(-time.Hour)}, {Late, 1, noon}, {"OF_ANOTHER_VERSION", 1, noon}}, s.now)
	if got := s.InForce(); len(got) != 1 || got[0] != (InForce{HeavyPages, 4, noon.Add(-time.Hour)}) || s.size(100) != 6 || s.size(3) != 1 {
		t.Errorf("%+v, pages of %d", got, s.size(100))
	}
	if s.pages(4*31, good); s.size(100) != 100 {
		t.Errorf("pages of %d: %v", s.size(100), s.changes)
	}
}

// drawn is some page.
func drawn(t *rapid.T) Sample {
	return rapid.SampledFrom([]Sample{good, good, good, slow, slower, throttled, retried, heavy, queued}).Draw(t, "page")
}

// Whatever happened: levels stay within bounds, memory too, a step back comes
// only after a while with fresh samples, and once all is well everything is as
// declared.
func TestEveryActionIsReversedAndNothingFlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, last := newStory(), map[Condition]Change{}
		at, heard := map[Condition]time.Time{}, map[Condition]int{}
		for range rapid.IntRange(1, 15).Draw(t, "spells") {
			before := len(s.changes)
			p, n := drawn(t), rapid.IntRange(1, 60).Draw(t, "long")
			for range n {
				s.pages(1, p)
				for c := range heard {
					heard[c]++
				}
				for _, c := range s.changes[before:] {
					if was, known := last[c.Condition]; known {
						turns := was.Worse() != c.Worse()
						if c.From != was.To || turns && !c.Futile && !c.Worse() && s.now.Sub(at[c.Condition]) < settle || turns && heard[c.Condition] < 5 {
							t.Fatalf("%v %s after %v", c, s.now.Sub(at[c.Condition]), was)
						}
					} else if c.From != 0 {
						t.Fatalf("%v came from nowhere", c)
					}
					last[c.Condition], at[c.Condition], heard[c.Condition] = c, s.now, 0
				}
				before = len(s.changes)
			}
			if rapid.Bool().Draw(t, "runs") {
				s.runs(rapid.IntRange(0, 30).Draw(t, "failed"), false)
			}
			if c, p := s.Concurrency(8), s.size(100); c < 1 || c > 8 || p < 1 || p > 100 {
				t.Fatalf("%d at once, pages of %d", c, p)
			}
			for _, f := range s.InForce() {
				if rule, _ := RuleOf(f.Condition); f.Level > rule.judged.most {
					t.Fatalf("%+v", f)
				}
			}
			if n := len(s.samples[page].list); n > most {
				t.Fatalf("%d samples are kept", n)
			}
		}
		if rapid.Bool().Draw(t, "silent") {
			s.passes(45 * time.Minute)
		} else {
			s.pages(500, good).runs(50, true)
		}
		if left := s.InForce(); len(left) > 0 || s.Concurrency(8) != 8 || s.size(100) != 100 {
			t.Fatalf("all is well, and yet %+v", left)
		}
		began, ended := 0, 0
		for _, c := range s.changes {
			if c.Began() {
				began++
			}
			if c.Ended() {
				ended++
			}
		}
		if began != ended {
			t.Fatalf("%d began, %d ended", began, ended)
		}
	})
}

func TestMatrixIsWhole(t *testing.T) {
	seen := map[Condition]bool{}
	used := map[Action]bool{}
	for _, r := range Matrix() {
		if seen[r.Condition] || r.When == "" || r.Ends == "" || r.By == "" || len(r.Actions) == 0 {
			t.Errorf("%+v", r)
		}
		seen[r.Condition] = true
		for _, a := range r.Actions {
			used[a] = true
			if !slices.Contains(Actions(), a) {
				t.Errorf("%s: %s is no action", r.Condition, a)
			}
		}
		if j := r.judged; j != nil && (j.leave >= j.enter || j.most < 1 || j.least < 1 || j.calm < 1) {
			t.Errorf("%s would flap: %+v", r.Condition, *j)
		}
		if j := r.judged; j != nil && j.mustHelp && j.leave >= j.enter/2 {
			t.Errorf("%s: a step halves what is measured, so going back would bring it back", r.Condition)
		}
	}
	for _, a := range Actions() {
		if !used[a] {
			t.Errorf("%s is never taken", a)
		}
	}
	throttled, _ := RuleOf(Throttled)
	if throttled.Does(PausePlanning, 1) || !throttled.Does(PausePlanning, 2) || throttled.Does(LowerConcurrency, 0) || throttled.Does(RaiseLag, 2) {
		t.Error("levels and actions do not fit")
	}
}

// Every action is counted under its own name, and sums are sums.
func TestTally(t *testing.T) {
	for i, a := range Actions() {
		var one, two Tally
		one.Count(a, i+1)
		two.Count(a, 10)
		for _, b := range Actions() {
			want := 0
			if a == b && a != RaiseLag && a != OpenCircuit {
				want = i + 11
			}
			if got := one.Add(two).Times(b); got != want {
				t.Errorf("%s: %s was counted %d times", a, b, got)
			}
		}
	}
}

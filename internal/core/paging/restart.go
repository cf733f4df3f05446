package paging

import "github.com/patra-ingest/patra/internal/core/fault"

// samePlace is how often a walk may break at one page: the third time it is the page, not
// the walk.
const samePlace = 3

// NoteBreak counts a walk that broke, and decides whether it may begin again. few reports
// that it broke at this page less often than makes the page suspect.
func (i *Isolation) NoteBreak(c Config, s State, f *fault.Error) (again, few bool) {
	lost := f.Code == fault.TokenLost || f.Code == fault.ShortCount
	if !lost && (s.FirstPage() || f.Code != fault.TokenLoop && !c.forgotToken(f)) {
		return false, false
	}
	if i.breaks == nil {
		i.breaks = map[int]int{}
	}
	i.breaks[s.Pages]++
	few = i.breaks[s.Pages] < samePlace
	return lost || few, few
}

// forgotToken reports whether a fault may mean that the upstream no longer knows our token.
// Upstreams say so in many ways, with status 200 among them.
func (c Config) forgotToken(f *fault.Error) bool {
	if c.Type != Token && c.Type != URL {
		return false
	}
	return f.Status == 400 || f.Status == 404 || f.Status == 410 || f.Code == fault.BadBody
}

// BlamesRestarts reports whether a page is to blame for a walk that broke for the last
// time: every restart broke at this page. Each pass read the pages before it, so it is not
// the upstream. restarts is how often the walk began again, most how often it may.
func (i *Isolation) BlamesRestarts(s State, f *fault.Error, restarts, most int) bool {
	return f.Code == fault.TokenLost && !s.FirstPage() && restarts >= most && i.breaks[s.Pages] >= restarts
}

package sector

import "github.com/patra-ingest/patra/internal/core/window"

// State is how a slice of a sector stands.
type State int

// States of slices.
const (
	Open State = iota // it is not over, or nobody made it yet
	Read              // it was read to its end
	Lost              // it failed or was cancelled
)

// Slice is what one slice of a plan has to do with a window: its own window, and how it stands.
type Slice struct {
	Sector string
	Window window.Window
	State  State
	Named  bool // it is one parent that failed in a run of them; the run itself was read
	Left   bool // it was left out, because the upstream refuses it: it lags, and nothing failed
}

// Decide tells what becomes of a window that several sectors share, when a slice of it ends. read is what all of its
// sectors have been read for; lost is what all of them are over with, and one or more have lost. Whatever a slice is still
// open for is neither: the last one to end decides it. So one event is written for a window, and none says that it was
// read while a sector of it is missing (I2, D§5.26). The slices are all that share the window with the one that ends, that
// one included.
func Decide(w window.Window, all []Slice) (read, lost []window.Window) {
	var open, failed []window.Window
	for _, s := range all {
		switch s.State {
		case Open:
			open = append(open, s.Window)
		case Lost:
			failed = append(failed, s.Window)
		}
	}
	for _, over := range window.Subtract(w, window.Union(open)) {
		read = append(read, window.Subtract(over, window.Union(failed))...)
		for _, f := range window.Union(failed) {
			if part := f.Intersect(over); !part.Empty() {
				lost = append(lost, part)
			}
		}
	}
	return read, lost
}

// Failed returns where something failed, of ranges that were lost: where sectors were only left out, nothing did.
func Failed(lost []window.Window, all []Slice) (out []window.Window) {
	var asked []window.Window
	for _, s := range all {
		if s.State == Lost && !s.Left {
			asked = append(asked, s.Window)
		}
	}
	for _, w := range lost {
		out = append(out, window.Within(w, asked)...)
	}
	return window.Union(out)
}

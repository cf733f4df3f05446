package term

import (
	"os"
	"runtime/debug"
)

// How far, in percent of what is in use, the heap of a command may grow before garbage is collected.
const (
	// readerHeap: `patra status` takes a tenth of a second and has next to nothing in use. With 100, garbage is
	// collected a dozen times in it.
	readerHeap = 400
	// ExportHeap: an export has some 20 MB in use for minutes.
	ExportHeap = 200
)

// LetHeapGrow sets how far the heap may grow until undo is called. Whoever sets GOGC decides instead.
func LetHeapGrow(percent int) (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}

package kernel

import (
	"sync/atomic"
	"time"
)

// waits adds up how long writes waited before their transaction began: for the
// one writer, or for a free connection.
type waits struct{ steps, nanos, redone atomic.Int64 }

func (w *waits) addWait(d time.Duration) {
	w.steps.Add(1)
	w.nanos.Add(int64(d))
}

// Waits returns how many transactions of this process began so far, and how long
// they waited for it together.
func (db *DB) Waits() (steps int64, waited time.Duration) {
	return db.waits.steps.Load(), time.Duration(db.waits.nanos.Load())
}

// Redone returns how many transactions of this process were done again so far: after a
// conflict, or because the database was busy.
func (db *DB) Redone() int64 { return db.waits.redone.Load() }

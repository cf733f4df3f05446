// Package retention says what may leave the database and what must be found
// again: which history is old enough, which events of a ledger stay as its
// boundaries, what a file of history is called, and how the snapshot is signed
// that stands for the events in it (§10.7, §13.5, D§5.7).
//
// It must never let go of what coverage, an open plan, the outbox or quarantine
// still needs, do I/O, or read a clock.
package retention

// Package coverage decides how far a cursor may move (D§5.7). It keeps, per cursor namespace, which ranges of time
// are wanted, read and waived, and as of when; it folds ledger events into that and answers what is done, what is
// settled, where the first hole is. The store calls it inside its transactions, the planner asks it what to read,
// and verification refolds the ledger with it. Slicing and execution come before it, the cursor after it.
//
// An instant is done if it was read or waived at least as late as it is wanted. It is settled if it is also older than
// that reading by more than the lookback: no late arrival can still appear there, so it is not read again. Settled is
// final: neighbouring settled ranges merge under their newest as-of, and a longer lookback declared later reopens
// only what is younger than that as-of minus the new lookback.
//
// It must never call an instant done that was neither read nor waived, move a cursor back (a MANUAL event apart), do
// I/O, or read a clock.
package coverage

// Package ledger holds the commands that look at the rows of work and act on them:
// plan list and show, slice, task, run and batch.
package ledger

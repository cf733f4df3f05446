// Package coverage holds the commands that show what is complete and what is not,
// and that fill, reconcile, waive or accept it.
package coverage

// Package term is what all commands share: the global flags, opening the database,
// tables and JSON, reading lists page by page, confirming, progress, logs, and one
// helper for each kind of text (counts, instants, windows, sizes, durations).
package term

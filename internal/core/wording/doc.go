// Package wording puts what is known into words: counts, instants and windows, the
// sentence of every finding, gap and condition, and what comes next for a task. The
// command line, alerts and pages say the same, so it is said here once.
package wording

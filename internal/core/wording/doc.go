// Package wording puts what is known into words: counts, instants and windows, and the
// sentence of every finding, gap and condition. The command line, alerts and pages say
// the same, so it is said here once.
package wording

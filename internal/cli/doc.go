// Package cli is the command line: one file per command, with output and exit
// codes made in one place each. Data goes to stdout, progress and hints to
// stderr.
//
// It translates between people and daemon; it must never hold a rule about
// records, windows or leases.
package cli

// Package cli is the command line. It joins the rooms below it to one program,
// completes arguments, and turns errors into messages and exit codes.
//
// Each room holds the commands of one topic and translates between people and
// daemon. No room holds a rule about records, windows or leases: engine/inspect
// answers questions, and the rooms put the answers into words. Data goes to stdout,
// progress and hints go to stderr.
package cli

// Package consent asks for, shows and records the agreement that a source or a file
// of events may use secrets and commands of this machine.
package consent

// Package demo is the demo command: it harvests a simulated source with faults, shows
// that nothing is missing, and keeps the source up so that people can try commands.
package demo

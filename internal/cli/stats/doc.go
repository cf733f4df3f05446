// Package stats holds the commands that add up many runs: how the queue stands, what
// was done over time, which errors were met most.
package stats

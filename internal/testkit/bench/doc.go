// Package bench measures what the program costs. Every figure is a ratio
// against a bare reference that runs in the same process at the same time,
// because absolute times on shared machines say little about the program.
//
// It must never set a time limit: a slow machine is not a defect. And a
// reference must never be made slower than an honest one to look good against.
package bench

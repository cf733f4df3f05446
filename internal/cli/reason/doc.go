// Package reason says in words why something is as it is: why a task waits, why work
// stands still, why a range is a gap, what a condition means, and what to type next.
package reason

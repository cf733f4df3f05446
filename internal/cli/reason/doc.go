// Package reason says in words why something is as it is: why a task waits, why work
// stands still, and what to type next. Sentences about values alone are in core/wording.
package reason

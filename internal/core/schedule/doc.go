// Package schedule is when a source wants to be looked at: the `schedule` section
// of a source file, the instants it means, and which of them are due. A tick is
// the instant as scheduled; it is the identity of the trigger that comes of it
// (D§5.5). Jitter moves when a tick fires, never the tick. engine/trigger asks
// this package and plans.
//
// It must never read a clock, remember what has fired, or give two processes two
// answers: everything follows from the configuration, a name and the instants it
// is asked about.
package schedule

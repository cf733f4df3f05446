// Package window provides half-open UTC intervals with their set operations, calendar alignment, and the total window
// of a HARVEST plan together with the steps that led to it (W§3.2, D§5.6, D§5.7), the safety lag that follows late
// arrivals among them (S appendix C). The planner asks it before slicing; coverage keeps its books in these intervals.
//
// It must never read a clock (now is an argument), know a store or a source, apply the overlap or the maximum span of a
// single slice (slicing does that), or decide what is settled (coverage does that).
package window

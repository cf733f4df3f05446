// Package health is the self-healing matrix (§12.2, §5.7): sliding statistics of
// a partition, the conditions they show under their names, and the actions each
// condition calls for. Matrix, in matrix.go, is the whole list; everything that
// slows down, shrinks, cuts or pauses automatically is a row of it.
//
// It measures nothing and acts on nothing: samples and `now` are handed in, and
// services apply what is decided. It never decides what is true of the data: an
// action may cost speed or freshness, never an item.
package health

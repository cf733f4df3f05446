// Package storetest is the definition of the store: whatever passes Run is a
// store. It drives one through its exported methods on real databases and looks
// at the tables behind its back. Its parts are cut where the store is cut, and stand
// on fixture. A new database is one folder under driver/store and a test that calls
// Run (D§3).
//
// It must never sleep, read the real clock, or let two tests share a database:
// a result that depends on the machine's speed defines nothing.
package storetest

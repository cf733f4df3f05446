// Package e2e proves the whole program from outside: real databases, a real
// child process that is killed, and the upstream simulator with its ground
// truth at the far end of the wire.
//
// It holds tests only. What decides whether a database is right is package
// check and the simulator, never the code under test.
package e2e

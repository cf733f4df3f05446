// Package live tells who watches what changes, as server-sent events: how far open plans
// are, which findings come and go, and what was read lately (§14.7).
//
// All viewers of a process share one look at the store, and while nobody watches nobody
// looks. Events are kept for a while with numbers, so that who comes back gets what it
// missed, and nothing twice. Every event belongs to one source, and goes only to those who
// see it. A client that does not read is dropped; nothing is kept for it.
//
// It holds no rule: what runs and what is found is said by its Reader.
package live

// Package entrance is what every request of the HTTP interface and the dashboard passes
// first (§14.10): which names the process answers to, who asks, how much and how fast, and
// what a browser may do with the answer. Behind it every request has a caller.
//
// It decides who comes in, never what a caller may do there: each route says which role it
// needs. It must never log, store or repeat a token, a session or a login code.
package entrance

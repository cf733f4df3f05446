// Package redisgate is the rate gate that many processes share through a Redis
// server (§4.10). The state of a key lives there and is changed by scripts only,
// on the server's clock. A process takes permits in small batches, each with the
// instant from which it may be used and a short time after which it is void. So
// a process that was paused cannot send in a hurry what it was allowed to send
// earlier. While the server cannot be reached, a gate of the process takes over
// with its share of the limits (D§5.23).
//
// It must never let a request leave above what the source declares: not while
// the server is lost, not after it came back empty or with an older state, and
// not while some processes see it and others do not (I11). It must never show
// the password of the server.
package redisgate

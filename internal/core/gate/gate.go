// Package gate is the contract and the arithmetic of the rate gate (§4.10): what
// a source allows, what a request asks for and hears, and the state of one key
// over explicit instants: token bucket, demotion and recovery, cool-downs,
// quotas, allowed hours, and the ways upstreams announce their limits.
//
// It holds no lock and reads no clock. The services that own keys, waiting and
// fairness are built on top of it, so that every decision here can be tested
// at an exact instant.
package gate

// Package redis gives a test a private Redis server of its own that can be
// killed, stopped, emptied and started again, or the address of the one that
// scripts/with-servers started.
//
// It must never touch a server it did not start, never keep anything on disk,
// and never let a missing server pass unnoticed: with CI=true that is a failure.
package redis

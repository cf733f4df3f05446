// Package events holds the commands that deliver events of changed records, and those
// that look at the outbox.
package events

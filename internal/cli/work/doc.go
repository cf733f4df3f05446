// Package work holds the commands that read from upstreams: plan, harvest, backfill,
// update, signal and serve.
package work

// Package metrics turns what the work tells about itself (core/measure) and what
// stored rows say (view.Gauges) into metrics for Prometheus, and serves them over HTTP
// with the health of the process.
//
// It decides nothing about the work and never asks the database: a scrape shows what
// was computed before. The number of its series is bounded.
package metrics

package metrics

// allDefinitions lists every metric of the program, those of the Go runtime and of the
// process apart.
func allDefinitions() []Definition {
	return []Definition{
		batches, items, batchLatency, httpLatency, httpRequests, httpBytes, failures, throttled, retries, healed, runs, advances,
		permitWait, refused, commits, takeovers, steps, stepWait, redone, unread, built,
		queued, running, lag, gaps, quarantined, findings, budgetLeft, budget, rate, gateMode, breaker, events, eventLag, processes, rawBytes, rawLimit,
		computedAt, computedIn, leftOut,
	}
}

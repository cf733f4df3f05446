package metrics

// Kind is what sort of metric it is.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Definition is one metric: its name, what it means and its labels.
type Definition struct {
	Name   string
	Kind   Kind
	Help   string
	Labels []string
	// Stored: it is computed from stored rows and says the same in every process; else it
	// counts what this process did.
	Stored bool
}

const prefix = "patra_ingest_"

var (
	ofPartition = []string{"source", "endpoint", "op"}
	ofDataset   = []string{"source", "endpoint"}
	ofKey       = []string{"key"}
)

func with(labels []string, more ...string) []string {
	return append(append([]string{}, labels...), more...)
}

// What this process counts while it works.
var (
	batches      = Definition{prefix + "batches_total", Counter, "Pages by what became of them: stored or failed.", with(ofPartition, "outcome"), false}
	items        = Definition{prefix + "items_total", Counter, "Items of stored pages by what became of them.", with(ofPartition, "action"), false}
	batchLatency = Definition{prefix + "batch_latency_seconds", Histogram, "Time from the first request for a page until it was stored, waits included. Specified as patra_ingest_batch_latency_ms.", ofPartition, false}
	httpLatency  = Definition{prefix + "http_latency_seconds", Histogram, "Time from the permit of a request to its whole answer. Specified as patra_ingest_http_latency_ms.", ofPartition, false}
	httpRequests = Definition{prefix + "http_requests_total", Counter, "Requests that were sent, by class of the answer's status; none: no answer came.", with(ofPartition, "class"), false}
	httpBytes    = Definition{prefix + "http_received_bytes_total", Counter, "Bytes of answers on the wire.", ofPartition, false}
	failures     = Definition{prefix + "errors_total", Counter, "Tries and runs that failed, by level of the fault.", with(ofPartition, "level"), false}
	throttled    = Definition{prefix + "429_total", Counter, "Answers with status 429.", ofPartition, false}
	retries      = Definition{prefix + "retries_total", Counter, "Requests that were tried again.", ofPartition, false}
	healed       = Definition{prefix + "self_heal_events_total", Counter, "What was done about trouble automatically, by action.", with(ofPartition, "type"), false}
	runs         = Definition{prefix + "runs_total", Counter, "Runs that ended, by status.", with(ofPartition, "status"), false}
	advances     = Definition{prefix + "cursor_advance_events_total", Counter, "Slices read to their end: each writes an event of its cursor.", with(ofPartition, "direction"), false}
	permitWait   = Definition{prefix + "permit_wait_seconds", Histogram, "Time that requests waited for their permit.", []string{"source"}, false}
	refused      = Definition{prefix + "permits_refused_total", Counter, "Requests that the gate put off instead of letting them wait, by reason.", []string{"source", "reason"}, false}
	commits      = Definition{prefix + "commit_seconds", Histogram, "Time to store a page.", nil, false}
	takeovers    = Definition{prefix + "lease_takeovers_total", Counter, "Tasks that were taken over because their lease had expired or their process was gone.", nil, false}
	steps        = Definition{prefix + "store_transactions_total", Counter, "Writing transactions that began.", nil, false}
	stepWait     = Definition{prefix + "store_wait_seconds_total", Counter, "Time that writing transactions waited before they began.", nil, false}
	redone       = Definition{prefix + "store_redone_total", Counter, "Writing transactions that were done again after a conflict, or because the database was busy.", nil, false}
	unread       = Definition{prefix + "metrics_failures_total", Counter, "How often the metrics of stored rows could not be computed.", nil, false}
	built        = Definition{prefix + "build_info", Gauge, "Version of the program and kind of its database; always 1.", []string{"version", "goversion", "database"}, false}
)

// What is computed from stored rows.
var (
	queued      = Definition{prefix + "tasks_queued", Gauge, "Tasks that wait, due or not.", ofPartition, true}
	running     = Definition{prefix + "executor_concurrency", Gauge, "Tasks that are worked on now, by all processes.", ofPartition, true}
	lag         = Definition{prefix + "cursor_lag_seconds", Gauge, "HARVEST: time from the watermark to now; ns is the id of the cursor. BACKFILL: what lies ahead of the watermark of the active campaign that is furthest from its end; ns is worst.", with(ofPartition, "ns"), true}
	gaps        = Definition{prefix + "coverage_gaps", Gauge, "Ranges that are missing and that no process works on.", ofDataset, true}
	quarantined = Definition{prefix + "quarantined_items", Gauge, "Rejected items that are in quarantine.", ofDataset, true}
	findings    = Definition{prefix + "findings", Gauge, "Findings of patra status.", []string{"code", "severity"}, true}
	budgetLeft  = Definition{prefix + "budget_remaining", Gauge, "What is left of a quota, the margin apart: requests of the hour or the day, or money of the day.", with(ofKey, "quota"), true}
	budget      = Definition{prefix + "budget_limit", Gauge, "What of a quota may be used, the margin apart.", with(ofKey, "quota"), true}
	rate        = Definition{prefix + "qps_effective", Gauge, "Requests a second that all processes may send now.", ofKey, true}
	gateMode    = Definition{prefix + "gate_mode", Gauge, "Processes that use a rate key, by how they share it: shared (through Redis) or own (a part each).", with(ofKey, "mode"), true}
	breaker     = Definition{prefix + "breaker_state", Gauge, "1 for the state of the breaker of an endpoint; absent if its last run did not fail.", with(ofDataset, "state"), true}
	events      = Definition{prefix + "outbox_events", Gauge, "Events that are not delivered: waiting, failed or dead. Counted to a bound.", with(ofDataset, "state"), true}
	eventLag    = Definition{prefix + "outbox_lag_seconds", Gauge, "Age of the oldest event that waits for delivery.", ofDataset, true}
	processes   = Definition{prefix + "processes", Gauge, "Living processes by role.", []string{"role"}, true}
	rawBytes    = Definition{prefix + "raw_bytes", Gauge, "Bytes that kept bodies of answers take: as the last sweep left them, and what this process has added.", nil, true}
	rawLimit    = Definition{prefix + "raw_limit_bytes", Gauge, "Bytes that they may take; the oldest are removed beyond it.", nil, true}
	computedAt  = Definition{prefix + "gauges_timestamp_seconds", Gauge, "When the metrics of stored rows were last computed.", nil, true}
	computedIn  = Definition{prefix + "gauges_duration_seconds", Gauge, "How long that took.", nil, true}
	leftOut     = Definition{prefix + "series_left_out", Gauge, "Series that were left out of a metric because it has too many.", []string{"metric"}, true}
)

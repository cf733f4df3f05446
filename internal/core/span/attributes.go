package span

import (
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// Attributes of ours. Source, endpoint and operation are names, the others ids that
// `patra plan show` and its like take, as in lines of the log.
const (
	Source    = "patra.source"
	Endpoint  = "patra.endpoint"
	Operation = "patra.operation"
	TriggerID = "patra.trigger"
	PlanID    = "patra.plan"
	SliceID   = "patra.slice"
	TaskID    = "patra.task"
	RunID     = "patra.run"
	BatchID   = "patra.batch"

	SliceNo       = "patra.slice_no" // of its plan
	SliceCount    = "patra.slices"   // how many slices a span stands for
	SliceFrom     = "patra.slice_from"
	SliceTo       = "patra.slice_to"
	BatchNo       = "patra.batch_no"       // of its run
	CorrelationID = "patra.correlation_id" // as the upstream was sent it
	Attempt       = "patra.attempt"        // which run of the task it is
	Priority      = "patra.priority"
	Page          = "patra.page"
	Token         = "patra.token" // a hash of the token of paging
	HasNext       = "patra.has_next"
	Detail        = "patra.detail" // it asks for details of found ids
	Status        = "patra.status"
	Becomes       = "patra.task_status"
	Items         = "patra.items"
	Waited        = "patra.gate_wait_ms"
	ErrorLevel    = "patra.error.level"
)

// Attributes that everybody names so (semantic conventions of OpenTelemetry).
const (
	Method        = "http.request.method"
	ResponseCode  = "http.response.status_code"
	ResponseBytes = "http.response.body.size"
	Resent        = "http.request.resend_count"
	URL           = "url.full"
	Host          = "server.address"
	Port          = "server.port"
	ErrorType     = "error.type"
)

// OfPartition returns what a span about a partition says of it.
func OfPartition(p ingest.Partition) []Attribute {
	return []Attribute{Text(Source, p.Source), Text(Endpoint, p.Endpoint), Text(Operation, string(p.Operation))}
}

// OfTask returns what a span about a claimed task says of it.
func OfTask(w ingest.Work) []Attribute {
	return append(OfPartition(w.Partition), Number(TriggerID, w.Lineage.ScheduleID), Number(PlanID, w.Lineage.PlanID),
		Number(SliceID, w.Lineage.SliceID), Number(TaskID, w.Lease.TaskID))
}

// HashToken returns what a span tells of a token of paging: enough to see that two are
// the same, and nothing that could be used.
func HashToken(token string) string {
	if token == "" {
		return ""
	}
	return fingerprint.Bytes([]byte(token))[:12]
}

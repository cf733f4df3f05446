package access

// Reading is what changes nothing here and is in the audit log all the same: it shows what
// upstreams answered, or sends them a request in the name of the installation (R13).
type Reading struct {
	Kind   ReadingKind
	Object string         // what was read, such as batch/7
	Detail map[string]any // how; nil: there is nothing to say
}

// ReadingKind is how the audit log calls a reading.
type ReadingKind string

// Kinds of readings.
const (
	ReadBody      ReadingKind = "body.read"      // the raw answer of a batch
	ReadExport    ReadingKind = "export.read"    // the file of an export
	ReplayBatches ReadingKind = "batch.replay"   // batches done again, from kept bodies or by asking
	TryRequest    ReadingKind = "source.test"    // one page, asked for as a text says
	CountUpstream ReadingKind = "coverage.count" // items of days, counted by the upstream
)

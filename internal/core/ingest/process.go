package ingest

// Process describes a process that works on the queue, or asks upstreams for another
// reason.
type Process struct {
	ID, Roles, Host string
	PID             int
}

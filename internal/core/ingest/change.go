package ingest

// Change is what was changed that may have made a source fail. Windows that
// failed before it are tried again at once (D§5.31).
type Change string

const (
	ChangeResumed    Change = "RESUMED"    // a pause was ended
	ChangeSecret     Change = "SECRET"     // a secret has another value than before
	ChangeSuperseded Change = "SUPERSEDED" // a plan that got nowhere was given up for a changed source
)

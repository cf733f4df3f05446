package export

import (
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// JobKind is what a job exports.
type JobKind string

// The kinds.
const (
	JobData     JobKind = "DATA"      // records of a dataset
	JobBlackBox JobKind = "BLACK_BOX" // what is known of one batch
)

// JobStatus is how far a job has come.
type JobStatus string

// The statuses. Only a job that succeeded has a file, until it expires.
const (
	JobQueued    JobStatus = "QUEUED"
	JobRunning   JobStatus = "RUNNING"
	JobSucceeded JobStatus = "SUCCEEDED"
	JobFailed    JobStatus = "FAILED"
	JobCancelled JobStatus = "CANCELLED"
)

// Open reports whether the job has not ended.
func (s JobStatus) Open() bool { return s == JobQueued || s == JobRunning }

// Bounds of jobs (R10).
const (
	MostOpenJobs = 20                  // of one caller, that wait or run
	JobSilence   = time.Minute         // without a sign of life: the process is lost
	LongestKeep  = 30 * 24 * time.Hour // of a file
	jobKept      = 30 * 24 * time.Hour // of what is known of a job, after its file is gone
)

// JobsKeptSince is the instant before which jobs that ended are forgotten.
func JobsKeptSince(now time.Time) time.Time { return now.Add(-LongestKeep - jobKept) }

// Question is what a job is asked for.
type Question struct {
	Format    Format            `json:"format,omitempty"`
	Packing   Packing           `json:"compress,omitempty"`
	States    States            `json:"state,omitempty"`
	Since     string            `json:"since,omitempty"` // cursor of an earlier export
	Fields    []string          `json:"fields,omitempty"`
	Payload   bool              `json:"withPayload,omitempty"`
	RawCells  bool              `json:"rawCells,omitempty"`
	Batch     int64             `json:"batch,omitempty"` // of a black box
	UsableFor duration.Duration `json:"usableFor,omitzero"`
}

// Job is an export that somebody asked for, and what became of it.
type Job struct {
	ID         int64     `json:"id"`
	Kind       JobKind   `json:"kind"`
	Status     JobStatus `json:"status"`
	Source     string    `json:"source"`
	Endpoint   string    `json:"endpoint"`
	Question   Question  `json:"question"`
	Actor      string    `json:"actor"` // who asked
	Reason     string    `json:"reason"`
	Records    int64     `json:"records"`          // written so far
	Share      float64   `json:"share"`            // of the work, from 0 to 1
	Bytes      int64     `json:"bytes"`            // of the file, so far
	File       string    `json:"file,omitempty"`   // its name; without one it is not whole
	SHA256     string    `json:"sha256,omitempty"` // of the file
	Cursor     string    `json:"cursor,omitempty"` // of data: what the next export takes as since
	Seal       string    `json:"seal,omitempty"`   // of a black box
	Error      string    `json:"error,omitempty"`  // why there is no file
	CreatedAt  time.Time `json:"createdAt"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"` // until when the file is there
	// Claim is the name under which a process took the job, and of the folder of its file.
	Claim string `json:"-"`
}

// Ready reports whether the file of the job is there at an instant.
func (j Job) Ready(now time.Time) bool { return j.Status == JobSucceeded && now.Before(j.ExpiresAt) }

// CheckReady says why there is no file at an instant.
func (j Job) CheckReady(now time.Time) error {
	switch {
	case j.Ready(now):
		return nil
	case j.Status == JobSucceeded:
		return fmt.Errorf("%w: the file of export %d was kept until %s: ask for the export again", fault.ErrNotFound, j.ID, j.ExpiresAt.UTC().Format(time.RFC3339))
	case j.Status.Open():
		return Conflict("export %d is %s and has no file yet: ask again in a moment", j.ID, j.Status)
	}
	return fmt.Errorf("%w: export %d is %s, and has no file", fault.ErrNotFound, j.ID, j.Status)
}

// Removable reports whether nobody needs the folder of the job at an instant. One that
// waits has none.
func (j Job) Removable(now time.Time) bool { return j.Status != JobRunning && !j.Ready(now) }

// Wish is a job that somebody wants.
type Wish struct {
	Kind             JobKind
	Key              string // the same key of the same caller is the same job (R11)
	Source, Endpoint string
	Question         Question
	MostBytes        int64 // that all files together may take
}

// Asked is what became of a wish.
type Asked struct {
	Job
	Repeated bool `json:"repeated"` // it was asked for before under the same key
	DryRun   bool `json:"dryRun,omitempty"`
}

// JobProgress is how far a job has come.
type JobProgress struct {
	Records, Bytes int64
	Share          float64
}

// JobEnd is how a job ended.
type JobEnd struct {
	Status         JobStatus
	Records, Bytes int64
	File, SHA256   string
	Cursor, Seal   string
	Error          string
	Keep           time.Duration // how long the file stays
}

// JobEnded is that a job was stopped, or its file removed.
type JobEnded struct {
	Job
	Changed bool `json:"changed"` // false: there was nothing left to stop or remove
	DryRun  bool `json:"dryRun,omitempty"`
}

// StatesFor returns the records that are wanted where nobody said which: who goes on from
// an earlier export has to hear of those that are gone.
func StatesFor(chosen States, goesOn bool) States {
	switch {
	case chosen != "":
		return chosen
	case goesOn:
		return All
	}
	return Active
}

// Order returns what is to be read for a question about data.
func (q Question) Order(source, endpoint string) (o Order, err error) {
	o = Order{Source: source, Endpoint: endpoint, Form: Form{Format: q.Format, Payload: q.Payload, RawCells: q.RawCells}, Packing: q.Packing}
	if len(q.Fields) > 0 {
		o.Form.Fields = slices.Clone(q.Fields)
	}
	if q.Since != "" {
		c, err := ParseCursor(q.Since)
		if err != nil {
			return o, err
		}
		o.Since = &c
	}
	o.States = StatesFor(q.States, o.Since != nil)
	return o, o.Check()
}

// UsualUse is how long a bundle may be used unless told otherwise; LongestUse at most.
const (
	UsualUse   = 7 * 24 * time.Hour
	LongestUse = 366 * 24 * time.Hour
)

// Use returns how long the bundle of a black box may be used.
func (q Question) Use() (time.Duration, error) {
	switch d := q.UsableFor.Std(); {
	case d == 0:
		return UsualUse, nil
	case d < 0 || d > LongestUse:
		return 0, fmt.Errorf("%w: usableFor: expected a length of time up to a year, such as P7D", fault.ErrInvalid)
	default:
		return d, nil
	}
}

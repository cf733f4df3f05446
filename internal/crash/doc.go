// Package crash names the places where the proofs let the program die. At is called on the
// way of a batch, and does nothing unless Reached is set. Only tests set it: what ends a
// process stands in the end-to-end tests, so no release has it.
//
// What Reached is set to must never do anything else than end or stop the process: a point that
// changes what the program does would prove nothing.
package crash

// Point is a place on the way of a batch.
type Point string

// The points, in the order in which a batch passes them. Published belongs to the
// relay of the outbox, Told to alerts, Exporting to exports, Exchanged to
// Rotated to token calls.
const (
	Claimed    Point = "P0"  // a task is leased, no process works on it yet
	RunRow     Point = "P1"  // the run is stored
	Permitted  Point = "P2"  // a permit is taken, the request is not sent
	Sent       Point = "P3"  // the request is sent, its answer is lost
	BodyRead   Point = "P4"  // the whole body is here
	BodyKept   Point = "P5"  // the body is durable, or goes with the batch; the transaction has not begun
	Records    Point = "P6"  // heads and bodies of records are written
	Outbox     Point = "P7"  // their events are written
	BatchRow   Point = "P8"  // the batch and its evidence are written
	Event      Point = "P9"  // an event of the cursor's ledger is written
	Cursor     Point = "P10" // the cursor's value is written, nothing is committed
	Committed  Point = "P11" // a batch is committed, the worker does not know
	Finishing  Point = "P12" // all is read, the task has not ended
	Published  Point = "P13" // events are published, the outbox does not know
	HalfSliced Point = "P14" // slices are written, their tasks are not
	Reaping    Point = "P15" // an expired lease is found and not yet ended
	Told       Point = "P16" // a message of alerts is sent, the database does not know
	Frames     Point = "P17" // frames of a batch's versions are written, rows of others are not
	Folding    Point = "P18" // frames of older versions are written, their rows are not removed
	Pruning    Point = "P19" // versions are removed and their frames written anew, nothing is committed
	Repacking  Point = "P20" // small frames are joined, nothing is committed
	Migrating  Point = "P21" // statements of a new version of the schema are done, the version is not noted
	Exporting  Point = "P22" // lines of an export are in its unfinished file
	Copying    Point = "P23" // a table of a copy is written, the copy is not whole
	Exchanged  Point = "P24" // a refresh token is spent, the next one is in memory only
	Beside     Point = "P25" // the next one is durable beside its place
	Rotated    Point = "P26" // the next one is in its place, nobody has used it
)

// Points lists all of them.
var Points = [...]Point{
	Claimed, RunRow, Permitted, Sent, BodyRead, BodyKept, Records, Outbox, BatchRow, Event, Cursor, Committed, Finishing, Published, HalfSliced, Reaping, Told,
	Frames, Folding, Pruning, Repacking, Migrating, Exporting, Copying, Exchanged, Beside, Rotated,
}

// Reached is told of each point that the process passes, if it is set. That is done before the
// program starts, and by tests only.
var Reached func(Point)

// At marks a point.
func At(p Point) {
	if Reached != nil {
		Reached(p)
	}
}

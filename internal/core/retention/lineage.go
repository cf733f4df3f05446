package retention

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// Level is a place in the chain of work that rows can be looked for by.
type Level string

// Levels.
const (
	AtPlan   Level = "plan"
	AtSlice  Level = "slice"
	AtTask   Level = "task"
	AtRun    Level = "run"
	AtBatch  Level = "batch"
	AtCursor Level = "cursor"
)

var levels = []Level{AtPlan, AtSlice, AtTask, AtRun, AtBatch, AtCursor}

// Link is one thing of the chain of work: batch/17.
type Link struct {
	Level Level
	ID    int64
}

func (l Link) String() string { return fmt.Sprintf("%s/%d", l.Level, l.ID) }

// ParseLink reads what String writes.
func ParseLink(text string) (Link, error) {
	level, number, _ := strings.Cut(text, "/")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id < 1 || !slices.Contains(levels, Level(level)) {
		return Link{}, fmt.Errorf("%w: %q: expected plan/N, slice/N, task/N, run/N, batch/N or cursor/N", fault.ErrInvalid, text)
	}
	return Link{Level(level), id}, nil
}

// Range is the smallest and the largest id of a level.
type Range [2]int64

// Ranges tell which ids may be in a part of a file. They are small whatever the
// file holds; whoever looks for an id reads the parts whose range has it.
type Ranges map[Level]Range

// Add widens the ranges by one row.
func (r Ranges) Add(row Row) {
	for level, id := range row.lineageIDs() {
		if id == 0 {
			continue
		}
		known, ok := r[level]
		if !ok {
			known = Range{id, id}
		}
		r[level] = Range{min(known[0], id), max(known[1], id)}
	}
}

// ErrNotArchived means that no archive has a thing: all that may have it were read.
var ErrNotArchived = fmt.Errorf("%w in any archive", fault.ErrNotFound)

// Has reports whether a thing may be in there.
func (r Ranges) Has(l Link) bool {
	known, ok := r[l.Level]
	return ok && known[0] <= l.ID && l.ID <= known[1]
}

// Row is one row of a table on its way into a file: its table, its place in the
// chain of work and its columns.
type Row struct {
	Table    Table
	ID       int64
	CursorID int64
	ingest.Lineage
	Columns []byte // a JSON object
}

// Is reports whether the row belongs to a thing.
func (r Row) Is(l Link) bool { return l.ID != 0 && r.lineageIDs()[l.Level] == l.ID }

func (r Row) lineageIDs() map[Level]int64 {
	return map[Level]int64{AtPlan: r.PlanID, AtSlice: r.SliceID, AtTask: r.TaskID, AtRun: r.RunID, AtBatch: r.BatchID, AtCursor: r.CursorID}
}

// Table is where an archived row comes from.
type Table string

// Tables whose rows are moved.
const (
	EventTable    Table = "ing_cursor_event"
	PlanTable     Table = "ing_plan"
	SliceTable    Table = "ing_plan_slice"
	ResliceTable  Table = "ing_reslice_request"
	TaskTable     Table = "ing_task"
	RunTable      Table = "ing_task_run"
	BatchTable    Table = "ing_task_run_batch"
	EvidenceTable Table = "ing_batch_evidence"
)

// PlanTables returns the tables of a plan, from its root on.
func PlanTables() []Table {
	return []Table{PlanTable, SliceTable, ResliceTable, TaskTable, RunTable, BatchTable, EvidenceTable}
}

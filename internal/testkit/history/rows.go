package history

import (
	"fmt"
	"strconv"
	"strings"
)

// numbers is the table that rows are counted with.
const numbers = "history_number"

// numbersAtOnce is how many rows one statement adds at most.
const numbersAtOnce = 500_000

// addRows copies what the sources began, until there is as much as was asked for. Indexes
// are made at the end: sorted once, instead of in ten million places.
func (f *filler) addRows() error {
	for _, statement := range append(f.words.before, "CREATE TABLE "+numbers+" (n INTEGER PRIMARY KEY)", numbersFilled) {
		if err := f.exec(statement); err != nil {
			return err
		}
	}
	var later []string
	for _, table := range []string{"ing_plan_slice", "ing_task", "ing_task_run", "ing_task_run_batch", "ing_cursor_event", "ing_quarantine", "ing_outbox_message"} {
		drop, create, err := f.words.indexes(f, table)
		if err != nil {
			return err
		}
		for _, statement := range drop {
			if err := f.exec(statement); err != nil {
				return err
			}
		}
		later = append(later, create...)
	}
	for _, add := range []func() error{f.addWork, f.addCoverage, f.addSums, f.addBeside} {
		if err := add(); err != nil {
			return err
		}
	}
	for _, statement := range append(later, "DROP TABLE "+numbers) {
		if err := f.exec(statement); err != nil {
			return err
		}
	}
	return nil
}

var numbersFilled = func() string {
	const digit = "(SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	return "INSERT INTO " + numbers + " SELECT 1 + a.n + 10*b.n + 100*c.n + 1000*d.n + 10000*e.n + 100000*f.n FROM " +
		digit + " f, " + digit + " e, " + digit + " d, " + digit + " c, " + digit + " b, " + digit + " a WHERE f.n < 5"
}()

// add runs a statement for the numbers 1 to n. In it {numbers} are those of one part, and
// the other words in braces are filled in.
func (f *filler) add(statement string, n int) error {
	statement = f.fillIn(statement)
	for first := 0; first < n; first += numbersAtOnce {
		part := fmt.Sprintf("(SELECT n + %d AS n FROM %s WHERE n <= %d)", first, numbers, min(numbersAtOnce, n-first))
		if err := f.exec(strings.ReplaceAll(statement, "{numbers}", part)); err != nil {
			return err
		}
	}
	return nil
}

// fillIn replaces words in braces. Of a row x.n is the number, p the number of its plan.
func (f *filler) fillIn(statement string) string {
	h := f.h
	span := h.End.UnixMicro() - h.Begin.UnixMicro()
	perPlan, perRun, perBatch := span/int64(h.plans()), span/int64(h.runs()), span/int64(h.Batches)
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	// A plan is about the time since the plan before of its source, which takes turns with the others.
	turns := int64(h.Sources - 1)
	slice := turns * perPlan / RunsPerPlan
	filled := strings.NewReplacer(
		"{source of plan}", fmt.Sprintf("(CASE WHEN x.p <= 2 THEN %d ELSE 1 + x.p %% %d END)", h.Sources, turns),
		"{sources}", number(int64(h.Sources)), "{plans}", number(int64(h.plans())), "{runs}", number(int64(h.runs())),
		"{plan from}", fmt.Sprintf("(%d + (x.p - %d) * %d)", h.Begin.UnixMicro(), turns, perPlan),
		"{plan to}", fmt.Sprintf("(%d + x.p * %d)", h.Begin.UnixMicro(), perPlan),
		"{slice from}", fmt.Sprintf("(%d + (x.p - %d) * %d + ((x.n - 1) %% 100) * %d)", h.Begin.UnixMicro(), turns, perPlan, slice),
		"{slice to}", fmt.Sprintf("(%d + (x.p - %d) * %d + ((x.n - 1) %% 100 + 1) * %d)", h.Begin.UnixMicro(), turns, perPlan, slice),
		"{run at}", fmt.Sprintf("(%d + x.n * %d)", h.Begin.UnixMicro(), perRun),
		"{batch at}", fmt.Sprintf("(%d + x.n * %d)", h.Begin.UnixMicro(), perBatch),
		"{digits of slice}", number(int64(len(strconv.FormatInt(slice, 2)))),
		"{end}", number(h.End.UnixMicro()), "{turns}", number(turns),
		"{hash}", f.words.hash, "{bytes32}", f.words.bytes32, "{bytes16}", f.words.bytes16,
	).Replace(statement)
	return filled
}

// text is a string of SQL.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

package bench

import (
	"bytes"
	"cmp"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	process "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	// programEnv names another program to measure instead of this one, such as an older
	// one; recordsEnv how many records a harvest has.
	programEnv = "PATRA_BENCH_PROGRAM"
	recordsEnv = "PATRA_BENCH_RECORDS"

	worksPerDay     = 5000
	footprintRounds = 3
)

// footprint is what one harvest took, as the system tells it of its process.
type footprint struct {
	wall, cpu time.Duration
	memory    int64 // most that was resident
	database  int64
	kept      int64 // answers
	pruned    int64 // pages of the database in use after its events were published and removed
}

// benchRival compares the program as it ships, with its ledger, outbox and kept answers,
// with the rival, on works of real shape. Both are processes of their own. On a server
// what the server takes is in neither.
func benchRival(b *testing.B, k kind, out *table) {
	s := startShaped(b, footprintDays(b), worksPerDay)
	program := cmp.Or(os.Getenv(programEnv), "")
	if program == "" {
		program = build(b)
	}
	var ours, rivals, quickest, floors []footprint
	repeat(b, footprintRounds, func() {
		rivals = append(rivals, rivalOnce(b, k, s, 1))
		quickest = append(quickest, rivalOnce(b, k, s, k.rowsPerInsert))
		ours = append(ours, footprintOnce(b, k, s, program))
		if k.name == "SQLite" {
			floors = append(floors, rivalOnce(b, k, s, 0))
		}
	})
	what := func(measured string) string {
		return fmt.Sprintf("harvest %d works of %.1f KB, %s: %s", s.works, float64(s.bytes)/float64(s.works)/1000, k.name, measured)
	}
	compare := func(measured string, of func(footprint) float64, format, reads string) {
		against := func(rivals []footprint) []float64 {
			rounds := make([]float64, len(ours))
			for i := range rounds {
				rounds[i] = of(ours[i]) / of(rivals[i])
			}
			return rounds
		}
		rounds := against(rivals)
		out.add(b, line{what: what(measured), ours: fmt.Sprintf(format, middle(ours, of)), reference: fmt.Sprintf(format, middle(rivals, of)), ratio: median(rounds),
			reads: fmt.Sprintf("%s; rounds %.2f to %.2f; %.2f of the rival that writes %d rows a statement ("+format+")", reads, slices.Min(rounds), slices.Max(rounds), median(against(quickest)), k.rowsPerInsert, middle(quickest, of))})
	}
	compare("speed", func(f footprint) float64 { return float64(s.works) / f.wall.Seconds() }, "%.0f records/s", "our speed / rival (aim 0.65)")
	compare("processor", func(f footprint) float64 { return f.cpu.Seconds() }, "%.2f s", "our processor time / rival (aim 2.3)")
	if len(floors) > 0 {
		cpu := func(f footprint) float64 { return f.cpu.Seconds() }
		out.add(b, line{what: what("processor, the floor"), ours: fmt.Sprintf("%.2f s", middle(floors, cpu)), reference: fmt.Sprintf("%.2f s", middle(rivals, cpu)), ratio: middle(floors, cpu) / middle(rivals, cpu),
			reads: "the least that stores as much as durably, and reads and checks nothing / rival (decision 138)"})
	}
	compare("memory", func(f footprint) float64 { return float64(f.memory) / 1e6 }, "%.0f MB", "most that was resident, ours / rival (aim 200 MB)")
	room := func(measured, reads string, of func(footprint) int64) {
		bytes := func(f footprint) float64 { return float64(of(f)) / 1e6 }
		out.add(b, line{what: what(measured), ours: fmt.Sprintf("%.1f MB", middle(ours, bytes)), reference: fmt.Sprintf("%.1f MB of JSON", float64(s.bytes)/1e6),
			ratio: middle(ours, bytes) * 1e6 / float64(s.bytes), reads: fmt.Sprintf("%s; the rival's file has %.0f MB", reads, middle(rivals, func(f footprint) float64 { return float64(f.database) / 1e6 }))})
	}
	room("database and kept answers", "bytes / bytes of the source's JSON (aim 0.35)", func(f footprint) int64 { return f.database + f.kept })
	room("database", "bytes / bytes of the source's JSON", func(f footprint) int64 { return f.database })
	room("database without events", "pages in use after events were published and pruned / bytes of the source's JSON (aim 0.25)", func(f footprint) int64 { return f.pruned })
}

func middle(of []footprint, value func(footprint) float64) float64 {
	values := make([]float64, len(of))
	for i, f := range of {
		values[i] = value(f)
	}
	return median(values)
}

func footprintDays(tb testing.TB) int {
	records := 100_000
	if text := os.Getenv(recordsEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			tb.Fatal(err)
		}
		records = n
	}
	return max(1, records/worksPerDay)
}

// measureProcess runs a program to its end. What the system tells of the memory of a
// process that ended begins with that of this one, which it came from; so the highest
// mark is read while it runs.
func measureProcess(tb testing.TB, cmd *process.Cmd) (out footprint) {
	tb.Helper()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	began := time.Now()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for looking := true; looking; {
		select {
		case err := <-ended:
			if err != nil {
				tb.Fatalf("%s: %v\n%s", strings.Join(cmd.Args[:min(3, len(cmd.Args))], " "), err, output.String())
			}
			looking = false
		case <-time.After(50 * time.Millisecond):
			if bytes, err := statusBytes(cmd.Process.Pid, "VmHWM:"); err == nil {
				out.memory = max(out.memory, int64(bytes))
			}
		}
	}
	out.wall, out.cpu = time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	return out
}

func rivalOnce(b *testing.B, k kind, s *shaped, rows int) (out footprint) {
	inScope(b, func(tb testing.TB) {
		db := k.fresh(tb)
		out = measureProcess(tb, rivalCommand(k, db, rows, s.url, firstDay, len(s.days)))
		raw := db.bare(tb, 1, "NORMAL")
		var stored int
		if err := raw.QueryRow("SELECT COUNT(*) FROM works").Scan(&stored); err != nil || stored != s.works {
			tb.Fatalf("the rival stored %d works of %d: %v", stored, s.works, err)
		}
		out.database = databaseBytes(tb, db, raw)
	})
	return out
}

// rivalCommand is the rival as a process; see rivalEnv.
func rivalCommand(k kind, db database, rows int, source string, from time.Time, days int) *process.Cmd {
	cmd := process.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %d %s %s %d", rivalEnv, k.name, db.address, cmp.Or(db.path, "-"), rows, source, from.Format(time.DateOnly), days))
	return cmd
}

func footprintOnce(b *testing.B, k kind, s *shaped, program string) (out footprint) {
	inScope(b, func(tb testing.TB) {
		db, dir := k.fresh(tb), tb.TempDir()
		run := func(args ...string) footprint {
			cmd := process.Command(program, append(args, "-q", "--db", db.address)...)
			cmd.Dir = dir
			return measureProcess(tb, cmd)
		}
		run("db", "migrate")
		args := []string{"harvest", "crossref", "--raw-dir", filepath.Join(dir, "raw"), "--workers", strconv.Itoa(fetchers), "--from", s.from().Format(time.DateOnly), "--to", s.to().Format(time.DateOnly)}
		for _, override := range append(s.overrides(), fmt.Sprintf("paging.size=%d", pageSize)) {
			args = append(args, "--set", override)
		}
		out = run(args...)
		raw := db.bare(tb, 1, "FULL")
		var stored int
		if err := raw.QueryRow("SELECT COUNT(*) FROM ing_record").Scan(&stored); err != nil || stored != s.works {
			tb.Fatalf("the program stored %d works of %d: %v", stored, s.works, err)
		}
		out.database, out.kept = databaseBytes(tb, db, raw), folderBytes(tb, filepath.Join(dir, "raw"))
		routes := filepath.Join(dir, "events.yaml")
		if err := os.WriteFile(routes, []byte("destinations:\n  - name: out\n    content: none\n    jsonl:\n      dir: "+filepath.Join(dir, "events")+"\nroutes:\n  - to: out\n"), 0o600); err != nil {
			tb.Fatal(err)
		}
		run("events", "publish", "--events", routes)
		exec(tb, raw, "UPDATE ing_outbox_message SET published_at = published_at - 172800000000, created_at = created_at - 172800000000") // a day is the least that is kept
		run("db", "prune", "--outbox-keep", "1d")
		var left int
		if err := raw.QueryRow("SELECT COUNT(*) FROM ing_outbox_message").Scan(&left); err != nil || left > 0 {
			tb.Fatalf("%d events are left: %v", left, err)
		}
		out.pruned = usedBytes(tb, db, raw)
	})
	return out
}

// databaseBytes is the size of the files of a database.
func databaseBytes(tb testing.TB, d database, raw *sql.DB) (n int64) {
	tb.Helper()
	if d.path != "" {
		if _, err := raw.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			tb.Fatal(err)
		}
		info, err := os.Stat(d.path)
		if err != nil {
			tb.Fatal(err)
		}
		return info.Size()
	}
	if err := raw.QueryRow("SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME LIKE CONCAT(DATABASE(), '/%')").Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}

// usedBytes leaves out what is free inside of them.
func usedBytes(tb testing.TB, d database, raw *sql.DB) (n int64) {
	tb.Helper()
	query := "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
	if d.path == "" {
		analyzeTables(tb, raw)
		query = "SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name <> 'ing_outbox_message'"
	}
	if err := raw.QueryRow(query).Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}

// analyzeTables lets a server count the pages of its tables anew; what it says of them
// otherwise may be as old as they are.
func analyzeTables(tb testing.TB, raw *sql.DB) {
	tb.Helper()
	var names string
	exec(tb, raw, "SET SESSION group_concat_max_len = 100000")
	if err := raw.QueryRow("SELECT GROUP_CONCAT(table_name SEPARATOR ', ') FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'").Scan(&names); err != nil {
		tb.Fatal(err)
	}
	exec(tb, raw, "ANALYZE TABLE "+names)
}

func folderBytes(tb testing.TB, dir string) (n int64) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		n += info.Size()
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

package bench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	process "os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// fileBytesEnv says how large the file is, unpacked.
const fileBytesEnv = "PATRA_BENCH_FILE_BYTES"

// TestProofLargeFile lets the program as it ships load a file of 10 GB, which is made while it is sent and so lies on the
// disk once, packed, as the copy of the program. It looks at what the program holds, and tells records a second of the load
// from the first byte to the end.
func TestProofLargeFile(t *testing.T) {
	if !proof() {
		t.Skip("loads a file of 10 GB, which takes many minutes; run it with: PATRA_PROOF=1 go test -run ProofLargeFile -v -timeout 2h ./internal/testkit/bench")
	}
	size := int64(10e9)
	if text := os.Getenv(fileBytesEnv); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		size = n
	}
	words := newVocabulary(11)
	works := int(size / measureWork(words))
	var sent int64
	d := &dump{works: works, files: []dumpFile{{name: "all.jsonl.gz", lines: works, write: func(w io.Writer) error {
		counting := &counter{w: w}
		err := words.writeLines(counting, 0, works, worksPerDay)
		sent = counting.n
		return err
	}}}}
	d.serve(t)
	dir := t.TempDir()
	address := "sqlite:" + filepath.Join(dir, "patra.db")
	program := build(t)
	if out, err := process.Command(program, "source", "apply", d.writeSource(t, dir), "--db", address).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := process.Command(program, "harvest", "dump", "-q", "--db", address, "--files-dir", filepath.Join(dir, "files"), "--raw-dir", filepath.Join(dir, "raw"))
	took := measureProcess(t, cmd)
	t.Logf("%d works, %.2f GB unpacked: %.0f records/s with the copying of the file, %.0f a second of processor time; most that was resident %d MB; took %s; database %.2f GB, answers %.2f GB",
		works, float64(sent)/1e9, float64(works)/took.wall.Seconds(), float64(works)/took.cpu.Seconds(), took.memory>>20, took.wall.Round(time.Second),
		float64(folderBytes(t, dir)-folderBytes(t, filepath.Join(dir, "raw")))/1e9, float64(folderBytes(t, filepath.Join(dir, "raw")))/1e9)
	if took.memory > maxResident {
		t.Errorf("%d MB were resident, want at most %d MB", took.memory>>20, maxResident>>20)
	}
	counted, err := process.Command(program, "data", "count", "dump", "--db", address).CombinedOutput()
	if err != nil || !bytes.Contains(counted, fmt.Append(nil, works)) {
		t.Errorf("it did not store %d works: %v\n%s", works, err, counted)
	}
}

// measureWork returns how many bytes a work has on average.
func measureWork(v *vocabulary) int64 {
	var out bytes.Buffer
	const some = 5000
	if err := v.writeLines(&out, 0, some, worksPerDay); err != nil {
		panic(err) // memory takes everything
	}
	return int64(out.Len() / some)
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

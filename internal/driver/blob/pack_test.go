package blob

import (
	"bytes"
	"encoding/hex"
	"os"
	"os/exec"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/need"
)

// packPart packs a part of a body as a frame of the database does: blocks of it, and
// others behind them that are not taken.
func packPart(t *rapid.T, body []byte, begin, end int) ingest.PackedPart {
	var out bytes.Buffer
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(512<<10))
	if err != nil {
		t.Fatal(err)
	}
	e.ResetContentSize(&out, int64(end-begin)+1000)
	_, err = e.Write(body[begin:end])
	if err == nil {
		err = e.Flush()
	}
	n := out.Len()
	if err == nil {
		_, err = e.Write(make([]byte, 1000))
	}
	if err == nil {
		err = e.Close()
	}
	var head zstd.Header
	if err == nil {
		err = head.Decode(out.Bytes())
	}
	if err != nil {
		t.Fatal(err)
	}
	return ingest.PackedPart{Begin: begin, End: end, Blocks: out.Bytes()[head.HeaderSize:n]}
}

// Whatever parts of a body were packed before, it comes back byte for byte. Parts that
// do not fit together are packed here.
func TestWhatWasPackedIsTaken(t *testing.T) {
	s := open(t, t.TempDir())
	random := rapid.SliceOfN(rapid.Byte(), 1, 3000)
	rapid.Check(t, func(r *rapid.T) {
		var body []byte
		for range rapid.IntRange(1, 6).Draw(r, "pieces") {
			piece := random.Draw(r, "piece")
			body = append(body, bytes.Repeat(piece, rapid.IntRange(1, 300).Draw(r, "times"))...)
			if len(piece) == 1 {
				body = append(body, bytes.Repeat(piece, 300_000)...) // blocks of one repeated byte
			}
		}
		body = append(body, rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(r, "own")...)
		var parts []ingest.PackedPart
		at := 0
		for at < len(body) && len(parts) < 5 {
			begin := rapid.IntRange(at, min(len(body)-1, at+70_000)).Draw(r, "begin")
			end := rapid.IntRange(begin+1, min(len(body), begin+400_000)).Draw(r, "end")
			parts = append(parts, packPart(r, body, begin, end))
			if at = end; rapid.IntRange(0, 9).Draw(r, "overlaps") == 0 {
				at = begin
			}
		}
		parts = append(parts, ingest.PackedPart{Begin: 3, End: 2}, ingest.PackedPart{Begin: len(body), End: len(body) + 9, Blocks: []byte("x")})
		ref, stored, err := s.Put(t.Context(), body, "", parts)
		if err != nil {
			r.Fatal(err)
		}
		got, err := s.Get(t.Context(), ref)
		if err != nil || !bytes.Equal(got, body) {
			r.Fatalf("%d bytes became %d: %v", len(body), len(got), err)
		}
		if size, err := s.Stored(t.Context(), ref); err != nil || size != stored {
			r.Fatalf("takes %d, said %d: %v", size, stored, err)
		}
	})
}

// A kept answer is a file that the usual program reads.
func TestFilesAreReadByTheProgramOfZstd(t *testing.T) {
	program, err := exec.LookPath("zstd")
	if err != nil {
		need.Missing(t, "there is no zstd")
	}
	s := open(t, t.TempDir())
	rapid.Check(t, func(r *rapid.T) {
		body := bytes.Repeat([]byte(hex.EncodeToString(rapid.SliceOfN(rapid.Byte(), 10, 2000).Draw(r, "text"))), 200)
		half := len(body) / 2
		ref, _, err := s.Put(t.Context(), body, "", []ingest.PackedPart{packPart(r, body, 100, half), packPart(r, body, half+1, len(body)-50)})
		if err != nil {
			r.Fatal(err)
		}
		file, err := os.Open(s.filePath(ref))
		if err != nil {
			r.Fatal(err)
		}
		defer file.Close()
		run := exec.Command(program, "-d", "-c")
		run.Stdin = file
		out, err := run.Output()
		if err != nil || !bytes.Equal(out, body) {
			r.Fatalf("it reads %d bytes of %d: %v", len(out), len(body), err)
		}
	})
}

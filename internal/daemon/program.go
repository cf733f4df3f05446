package daemon

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"sync"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// programHash tells this program from every other one, also from one of the same version that
// was built of other code: the build id that the compiler writes into a program is a hash of
// it. Empty where there is none: then nothing that programs keep for themselves is kept.
var programHash = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 64<<10) // the build id stands before the code
	n, _ := io.ReadFull(f, head)
	if id := buildID(head[:n]); len(id) > 0 {
		return fingerprint.Bytes(id)
	}
	return ""
})

// buildID finds the build id in the beginning of a program: on Linux and its relatives in a
// note of its own, elsewhere as a text before the code.
func buildID(head []byte) []byte {
	if at := bytes.Index(head, []byte("\x04\x00\x00\x00Go\x00\x00")); at >= 4 {
		length := int(binary.LittleEndian.Uint32(head[at-4:]))
		if rest := head[at+8:]; length > 0 && length <= len(rest) {
			return rest[:length]
		}
	}
	_, after, found := bytes.Cut(head, []byte("\xff Go build ID: \""))
	id, _, ended := bytes.Cut(after, []byte("\"\n \xff"))
	if !found || !ended {
		return nil
	}
	return id
}

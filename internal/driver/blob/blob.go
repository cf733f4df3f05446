// Package blob keeps the bodies of answers as files, compressed and named by
// what they hold (D§5.24), so that a batch can be read again without asking the
// upstream. Any number of processes may use one folder at once.
//
// It never changes a body, and it takes no part in transactions: a body is
// durable before the batch that refers to it is committed, and one that nobody
// came to refer to is swept like any other. It does not know what a secret is:
// whoever hands over a body has masked them before (I12).
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Options are the limits of a store.
type Options struct {
	// Grace is how long a file is never removed after it was put, whatever the
	// budget says: its batch may not be committed yet (default 10 minutes).
	Grace time.Duration
}

// Store is a folder of bodies. It is safe for concurrent use.
type Store struct {
	dir     string
	options Options
	temp    func(dir string) (*os.File, error)
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	buffers sync.Pool // *[]byte: what a body was compressed into
	grown   atomic.Int64
}

const (
	// maxBody is the largest body that is kept, and the most memory that a file
	// may ask for when it is read. Sources allow 64 MiB unless they say more.
	maxBody = 1 << 30
	// window is how far back a repetition is found. A page is rarely larger, and
	// an encoder takes seven times the memory with the usual 8 MiB.
	window = 1 << 20
)

// Open makes a store of a folder. Nothing is written before the first Put.
func Open(dir string, o Options) (*Store, error) {
	if dir == "" {
		return nil, fmt.Errorf("raw bodies: %w: no folder is named", fault.ErrInvalid)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("raw bodies: %w: %s is no folder", fault.ErrInvalid, dir)
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Minute
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("raw bodies: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxBody), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("raw bodies: %w", err)
	}
	return &Store{
		dir: dir, options: o, encoder: encoder, decoder: decoder,
		temp:    func(dir string) (*os.File, error) { return os.CreateTemp(dir, "put-*") },
		buffers: sync.Pool{New: func() any { return new([]byte) }},
	}, nil
}

// Close ends what reading started in the background.
func (s *Store) Close() { s.decoder.Close() }

// Dir returns the folder.
func (s *Store) Dir() string { return s.dir }

// Get reads a body. fault.ErrNotFound means that it was swept, or never put here.
func (s *Store) Get(ctx context.Context, ref string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	packed, err := onFile(s, ref, os.ReadFile)
	if err != nil {
		return nil, err
	}
	body, err := s.decoder.DecodeAll(packed, nil)
	if err == nil && refOf(body) != ref {
		err = errors.New("its content has another hash than its name")
	}
	if err != nil {
		return nil, fmt.Errorf("raw body: %s is damaged: %w; remove the file and look after the disk", s.filePath(ref), err)
	}
	return body, nil
}

// Stored returns the size of a body in the store.
func (s *Store) Stored(ctx context.Context, ref string) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	info, err := onFile(s, ref, os.Stat)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// onFile does something with the file of a body. A sweeper sets a file aside
// before it decides, so both names are looked at, and the first once more.
func onFile[T any](s *Store, ref string, do func(path string) (T, error)) (out T, err error) {
	if !isRef(ref) {
		return out, fmt.Errorf("raw body: %w: %q is no hash", fault.ErrInvalid, ref)
	}
	path := s.filePath(ref)
	for _, name := range []string{path, path + aside, path} {
		if out, err = do(name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return out, fmt.Errorf("raw body %s: %w in %s", ref, fault.ErrNotFound, s.dir)
	}
	if err != nil {
		return out, fmt.Errorf("raw body: %w", err)
	}
	return out, nil
}

const (
	suffix = ".zst"
	aside  = ".gone" // behind the name of a file that a sweeper looks at
)

// filePath returns a path made of the hash and nothing else, so that no text of an
// upstream can lead out of the folder.
func (s *Store) filePath(ref string) string { return filepath.Join(s.dir, ref[:2], ref+suffix) }

func refOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func isRef(ref string) bool {
	sum, err := hex.DecodeString(ref)
	return err == nil && len(sum) == sha256.Size && hex.EncodeToString(sum) == ref
}

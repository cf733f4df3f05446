package exportfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/until"
)

// maxManifest is the largest manifest that is read.
const maxManifest = 64 << 20

// splitManifest finds the folder and the name of a manifest: of a folder, or beside a file.
func splitManifest(path string) (dir, name string) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path, export.ManifestName
	}
	if filepath.Base(path) != export.ManifestName && !strings.HasSuffix(path, manifestEnding) {
		path += manifestEnding
	}
	return filepath.Dir(path), filepath.Base(path)
}

// ReadManifest reads the manifest of a folder, of a file, or by its own name.
func ReadManifest(path string) (export.Manifest, error) {
	dir, name := splitManifest(path)
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return export.Manifest{}, fmt.Errorf("export: %w: %s", fault.ErrNotFound, dir)
	}
	if err != nil {
		return export.Manifest{}, fmt.Errorf("export: %w", err)
	}
	defer root.Close()
	return readManifest(root, dir, name)
}

func readManifest(root *os.Root, dir, name string) (m export.Manifest, err error) {
	file, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%w: %s has no %s: it is no export, or one that did not come to its end", fault.ErrNotFound, dir, name)
	}
	if err != nil {
		return m, fmt.Errorf("export: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxManifest+1))
	if err != nil {
		return m, fmt.Errorf("export: %w", err)
	}
	if len(text) > maxManifest {
		return m, fmt.Errorf("%w: %s is larger than a manifest can be", fault.ErrInvalid, name)
	}
	if m, err = export.ParseManifest(text); err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return m, err
}

// Verify holds an export against its manifest, and says what differs.
func Verify(ctx context.Context, path string) (m export.Manifest, problems []string, err error) {
	dir, name := splitManifest(path)
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil, fmt.Errorf("export: %w: %s", fault.ErrNotFound, dir)
	}
	if err != nil {
		return m, nil, fmt.Errorf("export: %w", err)
	}
	defer root.Close()
	if m, err = readManifest(root, dir, name); err != nil {
		return m, nil, err
	}
	single, _ := strings.CutSuffix(name, manifestEnding)
	for _, f := range m.Files {
		if !export.IsName(f.Name) && f.Name != single {
			problems = append(problems, fmt.Sprintf("%.80q is no name of a file of an export", f.Name))
			continue
		}
		problem, err := checkFile(ctx, root, f, m)
		if err != nil {
			return m, problems, fmt.Errorf("export %s: %w", f.Name, err)
		}
		if problem != "" {
			problems = append(problems, f.Name+" "+problem)
		}
	}
	if name != export.ManifestName {
		return m, problems, nil
	}
	extra, err := findUnnamed(root, m)
	return m, append(problems, extra...), err
}

// findUnnamed returns files that look like part of the export and are not.
func findUnnamed(root *os.Root, m export.Manifest) (out []string, err error) {
	names, err := listNames(root)
	for _, name := range names {
		if export.IsName(name) && !slices.ContainsFunc(m.Files, func(f export.File) bool { return f.Name == name }) {
			out = append(out, name+" is not in the manifest")
		}
	}
	return out, err
}

func checkFile(ctx context.Context, root *os.Root, f export.File, m export.Manifest) (problem string, err error) {
	disk, err := root.Open(f.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return "is missing", nil
	}
	if err != nil {
		return "cannot be opened: " + err.Error(), nil
	}
	defer disk.Close()
	digest, bytes := sha256.New(), &tally{}
	from := io.TeeReader(until.Done(ctx, disk), io.MultiWriter(digest, bytes))
	records, broken := countRecords(from, m)
	if _, err := io.Copy(io.Discard, from); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	switch sum := hex.EncodeToString(digest.Sum(nil)); {
	case bytes.n != f.Bytes:
		return fmt.Sprintf("has %d bytes, the manifest says %d", bytes.n, f.Bytes), nil
	case sum != f.SHA256:
		return fmt.Sprintf("was changed: its SHA-256 is %s, the manifest says %.64s", sum, f.SHA256), nil
	case broken != nil:
		return "cannot be read: " + broken.Error(), nil
	case records != f.Records:
		return fmt.Sprintf("has %d records, the manifest says %d", records, f.Records), nil
	}
	return "", nil
}

type tally struct{ n int64 }

func (t *tally) Write(b []byte) (int, error) { t.n += int64(len(b)); return len(b), nil }

// countRecords counts the records of a file. A line end inside quotes is part of a cell.
func countRecords(from io.Reader, m export.Manifest) (records int64, err error) {
	switch m.Compression {
	case export.Gzip:
		if from, err = gzip.NewReader(from); err != nil {
			return 0, err
		}
	case export.Zstd:
		d, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return 0, err
		}
		defer d.Close()
		from = d
	}
	if m.Format == export.CSV {
		records = -1 // its header
	}
	quoted, last := false, byte('\n')
	for chunk := make([]byte, 64<<10); ; {
		n, err := from.Read(chunk)
		for _, c := range chunk[:n] {
			if c == '"' && m.Format == export.CSV {
				quoted = !quoted
			}
			if c == '\n' && !quoted {
				records++
			}
			last = c
		}
		if err == io.EOF {
			if last != '\n' || quoted {
				return records, errors.New("its last line has no end")
			}
			return records, nil
		}
		if err != nil {
			return records, err
		}
	}
}

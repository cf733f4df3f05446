package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/view"
)

// mostListBytes is how large a file of values may be: room for as many as partitions may have, and for comments.
const mostListBytes = 2 << 20

// listEnding is how the name of a file of values ends. A source file may come from a stranger and lie where the files of a
// person do: with it no key, no configuration and no database can be taken for a list of values.
const listEnding = ".txt"

// ReadSourceFile reads the text of a source file that lies on the disk of whoever asks, with the files of values that lie
// beside it. A text that came otherwise is read by ReadSource, which opens no file.
func ReadSourceFile(name string, text []byte) (view.CheckedFile, registry.Problems) {
	return readSource(name, text, func(file string) ([]string, error) {
		text, err := readBeside(filepath.Dir(name), file)
		if err != nil {
			return nil, err
		}
		return sector.ParseValues(text)
	})
}

// readBeside reads a file of values below the folder of a source file. Nothing else of this machine may be read because a
// source file says so (SECURITY R5): no link leads out of the folder, and nothing is waited for.
func readBeside(folder, file string) ([]byte, error) {
	if err := checkListName(file); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, readingError(err)
	}
	defer root.Close()
	opened, err := root.OpenFile(filepath.FromSlash(file), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, readingError(err)
	}
	defer opened.Close()
	info, err := opened.Stat()
	switch {
	case err != nil:
		return nil, readingError(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case info.Size() > mostListBytes:
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read: is it the right file?", info.Size(), mostListBytes)
	}
	if real, err := filepath.EvalSymlinks(filepath.Join(folder, filepath.FromSlash(file))); err != nil || !strings.HasSuffix(real, listEnding) {
		return nil, fmt.Errorf("it is a link to a file whose name does not end with %s", listEnding)
	}
	text, err := io.ReadAll(io.LimitReader(opened, mostListBytes+1))
	if err == nil && len(text) > mostListBytes {
		err = fmt.Errorf("it has more than %d bytes: is it the right file?", mostListBytes)
	}
	return text, err
}

// checkListName refuses the name of a file that is no list of values beside the source file, as it is written.
func checkListName(file string) error {
	parts := strings.Split(file, "/")
	switch {
	case strings.Contains(file, `\`) || !filepath.IsLocal(filepath.FromSlash(file)) || slices.Contains(parts, ".."):
		return errors.New("it does not lie below the folder of the source file, and no other is read: put it beside the source file, and write its name from there")
	case slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, ".") }):
		return errors.New("a name in it begins with a dot, and such files are not read for a source file: give it another name")
	case !strings.HasSuffix(file, listEnding):
		return fmt.Errorf("its name does not end with %s, and no other files are read for a source file: give it another name", listEnding)
	}
	return nil
}

// readingError says why a file cannot be read, without the path, which stands before it already.
func readingError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("it cannot be read: %w", err)
}

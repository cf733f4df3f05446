package exportfile

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// Target is where an export goes.
type Target struct {
	Dir    string
	Single string // name of the one file; empty: names are ours
}

// TargetOf tells a file from a folder: a file has the ending of its format. What
// has the ending of another one was meant otherwise.
func TargetOf(path string, f export.Format, p export.Packing) (Target, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return Target{Dir: path}, nil
	}
	ending := f.Ending(p)
	if strings.HasSuffix(path, ending) {
		t := Target{Dir: filepath.Dir(path), Single: filepath.Base(path)}
		return t, refuseFileAt(t.Dir, ending)
	}
	if err := refuseFileAt(path, ending); err != nil {
		return Target{}, err
	}
	if meant, is := fileEndings[endingOf(path)]; is {
		return Target{}, fmt.Errorf("%w: %s looks like a file, but what is written would end with %s: fit the name, the format or the compression%s; a name without such an ending, or with %c at its end, is a folder",
			fault.ErrInvalid, path, ending, meant, filepath.Separator)
	}
	return Target{Dir: path}, nil
}

// fileEndings are those of names that are meant as files, with what to add for such a file
// if we write it.
var fileEndings = map[string]string{
	".jsonl": " (--format jsonl)", ".csv": " (--format csv)", ".gz": " (--compress gzip)", ".zst": " (--compress zstd)",
	".db": " (--format sqlite)", ".db3": " (--format sqlite)", ".sqlite": " (--format sqlite)", ".sqlite3": " (--format sqlite)",
	".json": "", ".ndjson": "", ".txt": "", ".tsv": "", ".xml": "", ".xlsx": "", ".parquet": "", ".zip": "",
}

func endingOf(path string) string { return strings.ToLower(filepath.Ext(path)) }

// CheckTableName refuses to call a new table like a file of another format, or to make it
// below a file. One that is there keeps its name.
func CheckTableName(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := refuseFileAt(filepath.Dir(path), ""); err != nil {
		return err
	}
	if meant, is := fileEndings[endingOf(path)]; is && !strings.Contains(meant, string(export.SQLite)) {
		name := path
		for ; is; _, is = fileEndings[endingOf(name)] {
			name = strings.TrimSuffix(name, filepath.Ext(name))
		}
		return fmt.Errorf("%w: %s looks like a file of another format than a table of SQLite: name it %s.db, or fit the format%s", fault.ErrInvalid, path, name, meant)
	}
	return nil
}

// refuseFileAt says that a file is where a folder is needed: at dir, or at one above it.
func refuseFileAt(dir, ending string) error {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%w: a file is at %s, and a folder is needed there: name another --out, such as a new folder or a file that ends with %s; --force replaces no file by a folder", fault.ErrInvalid, at, cmp.Or(ending, ".db"))
		case err == nil, at == filepath.Dir(at):
			return nil
		}
	}
}

package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
)

// OpenPlain opens a file that is no store of ours, such as an export, by one connection.
// The file must be there.
func OpenPlain(path string, pragmas ...string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", path, err)
	}
	values := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}, "mode": {"rw"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: values.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

package localstore

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
)

// Beside opens the store of a database that a program uses as well, named as for it
// (sqlite:FILE or mysql://…): the program gives nobody its own. It is closed with the
// test.
func Beside(t testing.TB, database string) *store.Store {
	t.Helper()
	s, err := openBeside(t, database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func openBeside(t testing.TB, database string) (*store.Store, error) {
	if file, is := strings.CutPrefix(database, "sqlite:"); is {
		return sqlite.Open(t.Context(), sqlite.Config{Path: file, MustExist: true}, store.Options{})
	}
	return mysql.Open(t.Context(), database, store.Options{})
}

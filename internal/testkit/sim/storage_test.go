package sim

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// storage is where a world keeps what it knows.
type storage struct {
	database string // in the form of --db
	folder   string // of files that were fetched
}

// inFile is a SQLite file that ends with the test.
func inFile(t *testing.T) storage {
	t.Helper()
	dir := t.TempDir()
	return storage{database: "sqlite:" + filepath.Join(dir, "sim.db"), folder: filepath.Join(dir, "files")}
}

// onServer is a database of a MariaDB server that ends with the test. A bubble's clock stands
// still while anybody waits for an answer of the server.
func onServer(t *testing.T) storage {
	t.Helper()
	return storage{database: mariadb.DSN(t), folder: filepath.Join(t.TempDir(), "files")}
}

// openStore opens the database of a world and makes its tables. The clock of a server is not that
// of the bubble, so the store is given the bubble's.
func (w *world) openStore(o store.Options) {
	w.Helper()
	var err error
	if path, inFile := strings.CutPrefix(w.kept.database, "sqlite:"); inFile {
		w.store, err = sqlite.Open(w.ctx, sqlite.Config{Path: path, Relaxed: true}, o)
	} else {
		o.Clock = time.Now
		w.store, err = mysql.Open(w.ctx, w.kept.database, o)
	}
	w.must(err)
	_, err = w.store.Migrate(w.ctx)
	w.must(err)
}

package exportfile

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/export"
)

// fillUntilKilled writes more than SQLite keeps in memory, and dies without a word.
func fillUntilKilled(t *testing.T, path string) {
	o := tableOrder(0)
	if _, err := os.Stat(path); err == nil {
		o = tableOrder(1)
	}
	table, err := OpenTable(t.Context(), o, path, false)
	if err == nil {
		_, err = table.tx.Exec("PRAGMA cache_size = 10")
	}
	if err == nil {
		err = table.Put([]export.Record{rec("a", `{"t":"half"}`), rec("b", "")})
	}
	for i := 0; i < 200 && err == nil; i++ {
		err = table.Put([]export.Record{rec(fmt.Sprint("n", i), `{"t":"`+strings.Repeat("x", 20000)+`"}`)})
	}
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	t.Fatal("still alive: ", err)
}

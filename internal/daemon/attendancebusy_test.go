package daemon

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
)

// heard calls a function for the first line of a log.
type heard struct {
	once sync.Once
	do   func()
}

func (h *heard) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("first sign of life")) {
		h.once.Do(h.do)
	}
	return len(line), nil
}

// A database that another process writes to for longer than a sign of life is good for
// does not end a command that has not begun.
func TestABusyDatabaseDelaysTheFirstSignOfLife(t *testing.T) {
	file := filepath.Join(t.TempDir(), "patra.db")
	log := &heard{}
	app, err := Open(t.Context(), Config{Database: "sqlite:" + file, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	other, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	writer, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if _, err := writer.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	log.do = func() {
		if _, err := writer.ExecContext(context.Background(), "COMMIT"); err != nil {
			t.Error(err)
		}
	}
	leave, err := app.attendance.joinAsking(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	if !app.attendance.door.Open() {
		t.Error("the door is closed")
	}
}

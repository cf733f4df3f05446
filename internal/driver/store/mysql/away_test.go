package mysql

import (
	"database/sql"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// A server that starts anew, is overrun or takes no writes says so in many ways.
// None of them is about the step that hears it: it is redone, and those who can
// wait do (D§5.20).
func TestAServerThatIsAwayIsBusy(t *testing.T) {
	for number, text := range map[uint16]string{
		1040: "Too many connections",
		1203: "User patra already has more than 'max_user_connections' active connections",
		1053: "Server shutdown in progress",
		1927: "Connection was killed",
		4031: "The client was disconnected by the server because of inactivity",
		1290: "The MariaDB server is running with the --read-only option so it cannot execute this statement",
		1836: "Running in read-only mode",
	} {
		if err := translateError(&mysql.MySQLError{Number: number, Message: text}); !errors.Is(err, fault.ErrBusy) {
			t.Errorf("%d %s: %v", number, text, err)
		}
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	if _, err := Open(t.Context(), "mysql://root@"+closed.Addr().String()+"/patra", store.Options{}); !errors.Is(err, fault.ErrBusy) {
		t.Errorf("nobody listens: %v", err)
	}
}

// The same of a real server, as a statement hears it whose connection is ended.
func TestWhatAServerSaysWhenItEndsALine(t *testing.T) {
	db := migrated(t)
	db.SetMaxOpenConns(1)
	var id int64
	if err := db.QueryRow("SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	other := migrated(t)
	heard := make(chan error, 1)
	go func() {
		_, err := db.Exec("SELECT SLEEP(600)")
		heard <- err
	}()
	waitFor(t, other, id)
	if _, err := other.Exec("KILL CONNECTION ?", id); err != nil {
		t.Fatal(err)
	}
	if err := <-heard; !errors.Is(translateError(err), fault.ErrBusy) {
		t.Errorf("killed: %v", err)
	}
}

// waitFor waits until a connection runs its statement.
func waitFor(t *testing.T, db *sql.DB, id int64) {
	t.Helper()
	for {
		var n int
		if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.processlist WHERE id = ? AND info LIKE 'SELECT SLEEP%'", id).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
}

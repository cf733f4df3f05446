package mysql

import (
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// A server says in many ways that its disk is full; other errors of the same
// numbers are something else.
func TestAFullServerIsFull(t *testing.T) {
	for _, c := range []struct {
		number uint16
		text   string
		full   bool
	}{
		{1021, `Disk full (/tmp/#sql-temptable); waiting for someone to free some space... (errno: 28 "No space left on device")`, true},
		{1114, "The table 'ing_record' is full", true},
		{1026, `Error writing file '/data/binlog.000001' (Errcode: 28 "No space left on device")`, true},
		{1030, `Got error 28 "No space left on device" from storage engine InnoDB`, true},
		{1030, `Got error 122 "Internal (unspecified) error in handler" from storage engine InnoDB`, false},
		{1026, `Error writing file '/data/binlog.000001' (Errcode: 5 "Input/output error")`, false},
		{1205, "Lock wait timeout exceeded", false},
	} {
		err := translateError(&mysql.MySQLError{Number: c.number, Message: c.text})
		if errors.Is(err, fault.ErrFull) != c.full {
			t.Errorf("%d %s: %v", c.number, c.text, err)
		}
	}
}

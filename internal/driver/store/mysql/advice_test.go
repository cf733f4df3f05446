package mysql

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// Whoever starts with a server meets these first.
func TestAdviceForADatabaseThatCannotBeOpened(t *testing.T) {
	for want, err := range map[string]error{
		"patra db migrate":      &mysql.MySQLError{Number: 1049, Message: "Unknown database 'patra'"},
		"the password":          &mysql.MySQLError{Number: 1045, Message: "Access denied for user"},
		"the rights":            &mysql.MySQLError{Number: 1044, Message: "Access denied for user to database"},
		"is the server running": &net.OpError{Op: "dial", Err: errors.New("connection refused")},
	} {
		if got := adviseOpening(err); !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if got := adviseOpening(&mysql.MySQLError{Number: 1064, Message: "syntax"}); got != "" {
		t.Errorf("advice about anything: %q", got)
	}
}

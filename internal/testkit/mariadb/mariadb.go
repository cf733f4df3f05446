package mariadb

import (
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/patra-ingest/patra/internal/testkit/need"
)

// Env names the variable with the address of the server, in the form
// mysql://root@127.0.0.1:3306/ .
const Env = "PATRA_TEST_MYSQL"

// DSN makes a fresh utf8mb4 database and returns its address in the project's
// form, mysql://user@host:port/database. The database is dropped when the test
// and the cleanups it registered later are done.
func DSN(t testing.TB) string {
	t.Helper()
	server := os.Getenv(Env)
	if server == "" {
		need.Missing(t, "%s is not set: no MariaDB server to test against", Env)
		return ""
	}
	address, err := url.Parse(server)
	if err != nil || address.Scheme != "mysql" || address.Host == "" {
		t.Fatalf("%s=%q is no address of the form mysql://root@127.0.0.1:3306/", Env, server)
	}
	name := "patra_test_" + randomHex()
	if err := execute(address, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err != nil {
		t.Fatalf("create test database: %v", err)
	}
	t.Cleanup(func() {
		if err := execute(address, "DROP DATABASE "+name); err != nil {
			t.Errorf("drop test database (did the test leave a transaction open?): %v", err)
		}
	})
	return address.JoinPath(name).String()
}

func randomHex() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// A connection of its own for each statement keeps the test's pools out of it.
// The lock limit turns a transaction the test forgot into an error; the
// server's own limit is a day.
func execute(server *url.URL, statement string) error {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", server.Host
	config.User = server.User.Username()
	config.Passwd, _ = server.User.Password()
	config.Params = map[string]string{"lock_wait_timeout": "30"}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return fmt.Errorf("server address: %w", err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	_, err = db.Exec(statement)
	return err
}

// Execute runs a statement as the user that tests have, outside all databases.
func Execute(t testing.TB, statement string) {
	t.Helper()
	address, err := url.Parse(os.Getenv(Env))
	if err == nil {
		err = execute(address, statement)
	}
	if err != nil {
		t.Fatalf("test server: %v", err)
	}
}

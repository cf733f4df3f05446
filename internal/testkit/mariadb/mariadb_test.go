package mariadb

import (
	"database/sql"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestDSNIsAFreshDatabase(t *testing.T) {
	first, second := DSN(t), DSN(t)
	if first == second {
		t.Fatalf("two calls gave the same database %s", first)
	}
	if !regexp.MustCompile(`^mysql://[^/]+/patra_test_[0-9a-f]{16}$`).MatchString(first) {
		t.Errorf("address %s has not the project's form", first)
	}
	var charset string
	query(t, first, "SELECT @@character_set_database", &charset)
	if charset != "utf8mb4" {
		t.Errorf("character set %s, want utf8mb4", charset)
	}
}

func TestDatabaseIsDroppedAfterTheTest(t *testing.T) {
	var used string
	t.Run("user", func(t *testing.T) { used = DSN(t) })
	if used == "" {
		t.Skip("no server")
	}
	name := used[strings.LastIndex(used, "/")+1:]
	server := strings.TrimSuffix(used, name)
	var count int
	query(t, server, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '"+name+"'", &count)
	if count != 0 {
		t.Errorf("database %s is still there", name)
	}
}

func TestMissingOrBadServer(t *testing.T) {
	cases := []struct {
		name, server, ci string
		want             string
	}{
		{"laptop", "", "", "skip"},
		{"CI", "", "true", "fatal"},
		{"other CI value", "", "false", "skip"},
		{"not a URL of ours", "root@tcp(127.0.0.1:3306)/", "", "fatal"},
		{"no host", "mysql:///", "", "fatal"},
		{"nobody listens", "mysql://root@127.0.0.1:1/", "", "fatal"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(Env, c.server)
			t.Setenv("CI", c.ci)
			if got := outcome(t, func(tb testing.TB) { DSN(tb) }); got != c.want {
				t.Errorf("outcome %q, want %q", got, c.want)
			}
		})
	}
}

// query opens the address through the driver's own form; the project's
// translation is not under test here.
func query(t *testing.T, address, statement string, into any) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", u.User.String()+"@tcp("+u.Host+")"+u.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(statement).Scan(into); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// outcome runs f as a test would and tells how it ended.
func outcome(t *testing.T, f func(testing.TB)) string {
	end := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(end)
	}()
	<-done
	return end.how
}

type recorder struct {
	testing.TB
	how string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(string, ...any) {
	r.how = "fatal"
	runtime.Goexit()
}

func (r *recorder) Skipf(string, ...any) {
	r.how = "skip"
	runtime.Goexit()
}

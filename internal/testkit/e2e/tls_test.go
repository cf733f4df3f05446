package e2e

import (
	"bytes"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli"
	"github.com/patra-ingest/patra/internal/testkit/wiretap"
)

// A real server that is elsewhere is used over TLS and only so; on this machine a
// socket and the loopback address need none.
func TestTrust03ServerWithTLS(t *testing.T) {
	host := wiretap.Elsewhere(t)
	ours := wiretap.NewAuthority(t)
	cert, key := ours.Issue("server", host)
	mine, mineKey := ours.Issue("client", "client.example")
	server := newServer(t, "--bind-address=127.0.0.1,"+host, "--skip-name-resolve", "--ssl-ca="+ours.File, "--ssl-cert="+cert, "--ssl-key="+key)
	execute(t, server, "CREATE USER open@'%' IDENTIFIED BY 'canary-4711'", "GRANT ALL ON patra.* TO open@'%'",
		"CREATE USER closed@'%' IDENTIFIED BY 'canary-4711' REQUIRE X509", "GRANT ALL ON patra.* TO closed@'%'")
	at := fmt.Sprintf("%s:%d/patra", host, server.port)
	certified := "&cert=" + mine + "&key=" + mineKey
	for _, c := range []struct {
		name, address string
		code          int
		want          string
	}{
		{"an authority of our own", "mysql://open:canary-4711@" + at + "?ca=" + ours.File, 0, ""},
		{"an authority nobody knows", "mysql://open:canary-4711@" + at, 2, "ca=FILE"},
		{"a certificate of ours", "mysql://closed:canary-4711@" + at + "?ca=" + ours.File + certified, 0, ""},
		{"a certificate of ours is missing", "mysql://closed:canary-4711@" + at + "?ca=" + ours.File, 1, "the password and the rights"},
		{"in plain text, as written", "mysql://open:canary-4711@" + at + "?tls=off", 0, "is not encrypted"},
		{"on this machine", fmt.Sprintf("mysql://root@127.0.0.1:%d/patra", server.port), 0, ""},
		{"by its socket", "mysql://root@localhost/patra?socket=" + server.socket(), 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errText bytes.Buffer
			code := cli.Main(t.Context(), []string{"db", "migrate", "--db", c.address}, &out, &errText)
			if code != c.code || !strings.Contains(errText.String(), c.want) || c.want == "" && strings.Contains(errText.String(), "warning") {
				t.Errorf("exit %d, want %d: %s", code, c.code, errText.String())
			}
			if strings.Contains(errText.String(), "canary-4711") {
				t.Errorf("the password is shown: %s", errText.String())
			}
		})
	}
}

func execute(t *testing.T, server *ownServer, statements ...string) {
	t.Helper()
	db, err := sql.Open("mysql", fmt.Sprintf("root@tcp(127.0.0.1:%d)/", server.port))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

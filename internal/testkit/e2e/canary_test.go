package e2e

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/testkit/otlp"
	redisserver "github.com/patra-ingest/patra/internal/testkit/redis"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// Invariant 19 of RELIABILITY, I12: after a run with every kind of credential
// against upstreams that repeat them, in whatever way, no secret stands anywhere;
// and what explains a run names no person (§14.10). All ways to sign are a proof.
func TestProofNoSecretAnywhere(t *testing.T) {
	few := []string{"key-query", "key-json", "basic", "bearer", "oauth-refresh", "session-cookie", "hmac", "two-keys", "pool", "key-path", "session-get", "oauth-jwt", "jwt", "sigv4-body"}
	onServer := []string{"key-query", "basic", "oauth-refresh", "session-cookie", "pool"} // a server stores the same texts
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		few := few
		if strings.HasPrefix(database, "mysql:") {
			few = onServer
		}
		c := newCanary(t, database)
		for _, f := range simulated.AuthForms() {
			if os.Getenv("PATRA_PROOF") != "" || slices.Contains(few, f.Name) {
				c.harvest(len(c.sources), f)
			}
		}
		c.rotates()
		c.contact()
		c.publish()
		c.commands()
		c.refused()
		c.search()
	})
}

// canary is a world whose secrets are known, so that they can be looked for.
type canary struct {
	*world
	dir     string
	secrets map[string]string // by what they are for
	left    artefacts
	fronts  []*echoing
	sources []string
	gate    string
	spans   *otlp.Receiver
}

func newCanary(t *testing.T, database string) *canary {
	c := &canary{dir: t.TempDir(), secrets: map[string]string{}, left: artefacts{}}
	if err := os.Chmod(c.dir, 0o700); err != nil { // patra.yaml is refused where others may write, whatever the umask is
		t.Fatal(err)
	}
	if strings.HasPrefix(database, "mysql:") {
		database = c.account(t, database)
	}
	t.Setenv("PATRA_RAW_DIR", filepath.Join(c.dir, "raw"))
	t.Setenv("PATRA_ARCHIVE_DIR", filepath.Join(c.dir, "archive"))
	for _, folder := range []string{"bundles", "data"} {
		if err := os.Mkdir(filepath.Join(c.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATRA_CONFIG", filepath.Join(c.dir, "patra.yaml"))
	allowed := fmt.Sprintf("trust: {commands: [cat *], folders: [%q]}\n", os.TempDir())
	if err := os.WriteFile(os.Getenv("PATRA_CONFIG"), []byte(allowed), 0o600); err != nil {
		t.Fatal(err)
	}
	c.spans = otlp.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.spans.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization="+url.PathEscape(c.secret("header of the collector")))
	c.world = newWorld(t, database, upsim.Config{Seed: 88, PerDay: 24, Flat: true}, upsim.Options{})
	c.gate = c.guarded(t)
	return c
}

// secret makes one that travels badly: it is written differently in an address,
// in a page and in JSON.
func (c *canary) secret(what string) string {
	sum := sha256.Sum256([]byte(what))
	c.secrets[what] = `K<&/+` + hex.EncodeToString(sum[:12])
	return c.secrets[what]
}

// account is a user of the server with a password.
func (c *canary) account(t *testing.T, database string) string {
	t.Helper()
	address, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	user, password := "canary_"+strings.ToLower(rand.Text()[:12]), c.secret("password of the database") // others may run the same test
	for _, statement := range []string{
		fmt.Sprintf("CREATE OR REPLACE USER '%s'@'%%' IDENTIFIED BY '%s'", user, password),
		fmt.Sprintf("GRANT ALL ON %s.* TO '%s'@'%%'", strings.Trim(address.Path, "/"), user),
	} {
		mariadb.Execute(t, statement)
	}
	t.Cleanup(func() { mariadb.Execute(t, fmt.Sprintf("DROP USER '%s'@'%%'", user)) })
	address.User = url.UserPassword(user, password)
	return address.String()
}

// guarded is a rate gate with a password.
func (c *canary) guarded(t *testing.T) string {
	t.Helper()
	address, err := url.Parse(redisserver.Start(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: address.Host})
	defer client.Close()
	password := c.secret("password of the gate")
	if err := client.ConfigSet(t.Context(), "requirepass", password).Err(); err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword("", password)
	return address.String()
}

// run calls the program, as loud as it can be, and keeps what it says.
func (c *canary) run(args ...string) (code int) {
	c.t.Helper()
	code, out, errText := c.patra(append(slices.Clone(args), "-v")...)
	name := "output of " + strings.Join(args[:min(2, len(args))], " ")
	c.left.add(name, []byte(out))
	c.left.add("log of "+strings.Join(args[:min(2, len(args))], " "), []byte(errText))
	return code
}

// does runs a command that has to succeed: one that fails leaves nothing to search.
func (c *canary) does(args ...string) {
	c.t.Helper()
	if code := c.run(args...); code != 0 {
		c.t.Errorf("patra %s: exit %d", strings.Join(args, " "), code)
	}
}

// reference puts a secret where the program finds it: into a variable, a file, or
// what a command prints.
func (c *canary) reference(i int, name, value string) string {
	name = fmt.Sprintf("CANARY_%02d_%s", i, name)
	file := filepath.Join(c.t.TempDir(), name)
	if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	switch i % 3 {
	case 0:
		c.t.Setenv(name, value)
		return "env:" + name
	case 1:
		return "file:" + file
	}
	return "exec:cat " + file
}

// harvest reads one kind of source through all its faults.
func (c *canary) harvest(i int, f simulated.Form) {
	t := c.t
	t.Helper()
	auth := &f.Options.Forms.Auth
	auth.Secret = c.secret("secret of " + f.Name)
	values := map[string]string{"FORM_USER": auth.User, "FORM_SECRET": auth.Secret}
	known := []string{auth.Secret}
	if auth.RefreshToken != "" {
		auth.RefreshToken = c.secret("refresh token of " + f.Name)
		values["FORM_REFRESH"] = auth.RefreshToken
		if f.Env["FORM_REFRESH"] != "" { // else it is spent once and replaced: nobody knows it any more
			known = append(known, auth.RefreshToken)
		}
	}
	if f.Env["FORM_SECOND"] != "" && auth.Second == "" { // of a pool, and refused: the upstream knows it all the same
		values["FORM_SECOND"] = c.secret("refused key of " + f.Name)
		known = append(known, values["FORM_SECOND"])
	}
	if auth.Second != "" {
		auth.Second = c.secret("second key of " + f.Name)
		values["FORM_SECOND"], known = auth.Second, append(known, auth.Second)
	}
	for name, key := range f.Env {
		if !strings.HasPrefix(name, "FORM_KEY") {
			continue
		}
		values[name] = key
		for i, line := range strings.Split(strings.TrimSpace(key), "\n") {
			if !strings.Contains(line, "-----") {
				c.secrets[fmt.Sprintf("line %d of the key of %s", i, f.Name)] = line
			}
		}
	}
	server, err := upsim.NewServer(c.data, f.Options)
	if err != nil {
		t.Fatal(err)
	}
	front := newEchoing(server, known...)
	web := httptest.NewServer(front)
	t.Cleanup(web.Close)
	text := strings.Replace(f.YAML(web.URL), "  allowPrivate: true\n", "  allowPrivate: true\n  allowRedirects: true\n", 1)
	text = strings.Replace(text, "maxAttempts: 4", "maxAttempts: 10", 1) // through the faults
	for name, value := range values {
		text = strings.ReplaceAll(text, "env:"+name, c.reference(i, strings.TrimPrefix(name, "FORM_"), value))
	}
	file := filepath.Join(t.TempDir(), f.Name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	source := "form-" + f.Name
	for _, args := range [][]string{{"source", "validate", file}, {"source", "render", file}, {"source", "test", file}, {"source", "trust", file, "--yes"}, {"source", "test", file}, {"source", "apply", file}} {
		c.run(args...)
	}
	c.fronts, c.sources = append(c.fronts, front), append(c.sources, source)
	if i == 0 {
		c.killed(source, front)
	}
	front.badDate.Store(true)
	const partial = 3
	if code := c.run(c.args(source)...); code != 0 && code != partial {
		t.Logf("%s: exit %d with faults", source, code)
	}
	front.faults.Store(false)
	c.run("task", "retry", "--source", source, "--status", "FAILED", "--yes", "--reason", "the faults are over")
	if code := c.run(c.args(source)...); code != 0 && code != partial {
		t.Errorf("%s: exit %d without faults: %s", source, code, c.left["log of harvest "+source])
	}
	for _, how := range []string{"503", "500", "error-200", "cut", "200", "encoding"} {
		if front.echoes[how] == 0 {
			t.Errorf("%s never echoed as %s: %v", source, how, front.echoes)
		}
	}
}

// rotates harvests a source whose refresh token is replaced in its file.
func (c *canary) rotates() {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "refresh")
	if err := os.WriteFile(file, []byte(c.secret("refresh token of oauth-rotating")), 0o600); err != nil {
		c.t.Fatal(err)
	}
	f := simulated.RotatingForm(file)
	f.Options.Forms.Auth.TokenUses = 0
	c.harvest(len(c.sources), f)
	if now, err := os.ReadFile(file); err != nil || strings.Contains(string(now), c.secrets["refresh token of oauth-rotating"]) {
		c.t.Errorf("the refresh token was not replaced: %v", err)
	}
}

func (c *canary) args(source string) []string {
	return []string{"harvest", source, "--from", weekFrom.Format(time.RFC3339), "--now", c.now.Format(time.RFC3339), "--gate", c.gate}
}

// killed starts a harvest as a process and ends it in the middle.
func (c *canary) killed(source string, front *echoing) {
	c.t.Helper()
	cmd, output := c.child(append(c.args(source), "-v", "--log-format", "json")...)
	for {
		front.mu.Lock()
		n, next := front.n, front.arrived
		front.mu.Unlock()
		if n >= 9 {
			break
		}
		<-next
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	c.left.add("log of a process that was killed", output.Bytes())
	c.checkRights()
}

// checkRights looks at the files of the database while all of them are there.
func (c *canary) checkRights() {
	c.t.Helper()
	file, ok := strings.CutPrefix(c.database, "sqlite:")
	for _, end := range []string{"", "-wal", "-shm"} {
		if !ok {
			continue
		}
		if info, err := os.Stat(file + end); err != nil || info.Mode().Perm() != 0o600 {
			c.t.Errorf("%s: %v, %v", file+end, info, err)
		}
	}
}

// contact harvests a source that is told who asks.
func (c *canary) contact() {
	c.t.Helper()
	c.faults("429@every:13;503@every:11;error-200@every:17")
	args := append(c.harvestArgs("--set", "contact.email="+personsAddress), "--gate", c.gate)
	if code := c.run(args...); code != 0 {
		c.t.Errorf("exit %d", code)
	}
	c.sources = append(c.sources, "crossref")
}

// publish sends events to a receiver that repeats what it got, at an address that
// is a secret itself, and into files.
func (c *canary) publish() {
	t := c.t
	t.Helper()
	asked := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked%3 == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, page([]string{r.URL.Path, r.Header.Get("Webhook-Signature"), c.secrets["secret of the webhook"], c.secrets["old secret of the webhook"]}))
		}
	}))
	t.Cleanup(receiver.Close)
	t.Setenv("CANARY_HOOK", c.secret("secret of the webhook"))
	t.Setenv("CANARY_HOOK_OLD", c.secret("old secret of the webhook"))
	t.Setenv("CANARY_NATS", c.secret("token of NATS"))
	address := url.PathEscape(c.secret("address of the webhook"))
	file := filepath.Join(t.TempDir(), "events.yaml")
	text := fmt.Sprintf(`destinations:
  - {name: files, jsonl: {dir: %q}}
  - {name: hook, webhook: {url: "%s/%s", secret: env:CANARY_HOOK, oldSecret: env:CANARY_HOOK_OLD, allowPrivate: true, concurrent: 1}}
  - {name: nobody, webhook: {url: "http://127.0.0.1:1/%s", secret: env:CANARY_HOOK, allowPrivate: true}}
  - {name: bus, nats: {url: "nats://127.0.0.1:1", stream: S, token: env:CANARY_NATS}}
routes:
  - {sources: [%s], to: hook}
  - {sources: [%s], to: nobody}
  - {sources: [%s], to: bus}
  - {to: files}
`, filepath.Join(c.dir, "events"), receiver.URL, address, address, c.sources[0], c.sources[1], c.sources[2])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.run("events", "test", "hook", "--events", file)
	c.does("events", "trust", "--events", file, "--yes")
	for range 2 {
		c.run("events", "publish", "--events", file)
	}
	c.run("events", "test", "nobody", "--events", file)
	if asked == 0 {
		t.Error("the receiver was never asked")
	}
}

// commands looks at everything with everything there is.
func (c *canary) commands() {
	t := c.t
	t.Helper()
	batches := c.ids("batch", "--limit", "500")
	if len(batches) < 45 {
		t.Fatalf("%d batches", len(batches))
	}
	for _, o := range []string{"table", "json"} {
		for _, args := range [][]string{
			{"batch", "list"}, {"batch", "show", batches[0]}, {"batch", "show", batches[1]}, {"cursor", "history", c.ids("cursor")[0]}, {"cursor", "verify"}, {"source", "list"}, {"rate", "list"},
			{"events", "deliveries"}, {"audit", "list"}, {"audit", "verify"}, {"quarantine", "groups"}, {"batch", "replay", batches[0]},
		} {
			c.does(append(args, "-o", o)...)
		}
		for _, kind := range []string{"plan", "task", "run", "slice", "cursor", "outbox", "quarantine"} {
			c.does(kind, "list", "-o", o)
			c.does(kind, "show", c.ids(kind)[0], "-o", o)
		}
		for _, source := range c.sources {
			for _, args := range [][]string{{"source", "show"}, {"source", "explain"}, {"source", "history"}, {"coverage", "show"}, {"coverage", "gaps"}, {"status"}, {"quarantine", "list"}} {
				c.run(append(args, source, "-o", o)...)
			}
		}
	}
	for _, source := range c.sources {
		c.does("source", "export", source)
		c.does("source", "render", source)
		c.does("data", "export", source, "--format", "jsonl", "--out", filepath.Join(c.dir, "data", source))
		c.does("quarantine", "export", source, "--out", filepath.Join(c.dir, source+".rejects.jsonl"))
	}
	for batch := range 12 {
		id := batches[4*batch]
		c.does("batch", "export", id, "--out", filepath.Join(c.dir, "bundles", id+".zip"), "--reason", "canary")
		c.does("batch", "raw", id)
		c.does("batch", "replay", id) // some of them were redirected
		c.run("batch", "replay", id, "--from", "upstream")
	}
	c.run("status")
	c.does("metrics")
}

// ids lists the ids of what is stored of a kind, the smallest first. A server leaves some out
// where a step was done again, so the first is not always 1.
func (c *canary) ids(kind string, flags ...string) (ids []string) {
	c.t.Helper()
	code, out, errText := c.patra(append([]string{kind, "list", "-o", "json"}, flags...)...)
	var stored view.List[struct{ ID int64 }]
	if err := json.Unmarshal([]byte(out), &stored); code != 0 || err != nil || len(stored.Items) == 0 {
		c.t.Fatalf("%s list: exit %d, %d of them, %v\n%s", kind, code, len(stored.Items), err, errText)
	}
	slices.SortFunc(stored.Items, func(a, b struct{ ID int64 }) int { return cmp.Compare(a.ID, b.ID) })
	for _, s := range stored.Items {
		ids = append(ids, fmt.Sprint(s.ID))
	}
	return ids
}

// refused: every upstream refuses every credential, and says so loudly.
func (c *canary) refused() {
	c.t.Helper()
	c.now = c.now.Add(24 * time.Hour)
	first := c.fronts[0]
	first.faults.Store(true)
	first.broken.Store(true)
	if code := c.run(append(c.args(c.sources[0]), "--set", "retry.taskAttempts=1", "--set", "retry.maxAttempts=1")...); code == 0 {
		c.t.Error("exit 0 although there was nothing but errors")
	}
	first.broken.Store(false)
	c.now = c.now.Add(24 * time.Hour)
	for i, front := range c.fronts {
		front.refuses.Store(true)
		front.faults.Store(true)
		if code := c.run(c.args(c.sources[i])...); code == 0 {
			c.t.Errorf("%s: exit 0 although it refuses us", c.sources[i])
		}
		if front.echoes["401"] == 0 {
			c.t.Errorf("%s refused nothing", c.sources[i])
		}
	}
	c.run("status")
	c.does("audit", "list", "-o", "json")
	c.archive()
}

// archive moves what happened into files, as if it were a year ago.
func (c *canary) archive() {
	t := c.t
	t.Helper()
	db, err := check.Open(c.database)
	if file, ok := strings.CutPrefix(c.database, "sqlite:"); ok {
		db, err = sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(60000)")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, change := range []string{"ing_cursor_event SET created_at = created_at", "ing_plan SET updated_at = updated_at"} {
		if _, err := db.ExecContext(t.Context(), "UPDATE "+change+" - 365 * 24 * 3600 * 1000000"); err != nil {
			t.Fatal(err)
		}
	}
	c.does("db", "archive", "--reason", "canary")
	c.does("db", "archive", "list", "-o", "json")
	if files, _ := os.ReadDir(filepath.Join(c.dir, "archive")); len(files) == 0 {
		t.Error("nothing was archived")
	}
}

// leftBehind gathers the tables and files, beside what was printed.
func (c *canary) leftBehind() {
	c.t.Helper()
	if file, ok := strings.CutPrefix(c.database, "sqlite:"); ok {
		for _, end := range []string{"", "-wal", "-shm"} {
			if content, err := os.ReadFile(file + end); err == nil {
				c.left.add("file of the database", content)
			}
		}
	}
	for _, body := range c.spans.Bodies() {
		c.left.add("spans", body)
	}
	c.left.tables(c.t, c.database)
	c.left.folder(c.t, "file", c.dir)
}

func (c *canary) search() {
	t := c.t
	t.Helper()
	c.leftBehind()
	secrets := maps.Clone(c.secrets)
	for i, front := range c.fronts {
		for value := range front.secrets {
			if len(value) >= 16 {
				secrets[fmt.Sprintf("%q, which %s got", value, c.sources[i])] = value
			}
		}
	}
	for _, place := range c.left.find(secrets) {
		t.Error(place)
	}
	if n := len(secrets); n < 20 {
		t.Errorf("only %d secrets were looked for", n)
	}
	c.echoesArrived()
	c.spansArrived()
	c.people()
}

// echoesArrived: a search that finds nothing proves nothing unless the secrets
// came along and were hidden.
func (c *canary) echoesArrived() {
	c.t.Helper()
	for _, place := range []string{"file", "table ing_batch_evidence.response", "table ing_quarantine.raw", "table ing_record_body.payload", "file body"} {
		if !strings.Contains(string(c.left[place]), "[secret]") {
			c.t.Errorf("no echo has reached %s", place)
		}
	}
}

// spansArrived: spans of every source came, of calls for tokens too, with what is secret in
// their addresses hidden; and the collector was sent its header.
func (c *canary) spansArrived() {
	c.t.Helper()
	for _, source := range c.sources {
		if !slices.ContainsFunc(c.spans.Named("batch"), func(s otlp.Span) bool { return s.Attributes[span.Source] == source }) {
			c.t.Errorf("no span of %s arrived", source)
		}
	}
	if len(c.spans.Named("POST")) == 0 {
		c.t.Error("no call for a token has a span")
	}
	if h := c.spans.Headers(); len(h) == 0 || h[0].Get("Authorization") != c.secrets["header of the collector"] {
		c.t.Error("the collector did not get its header")
	}
}

// bodies are where data of people belongs: it is what was harvested.
var bodies = []string{
	"file", "file of the database", "table ing_quarantine.raw", "table ing_record_body.payload", "table ing_body_frame.content", "output of quarantine show", "output of batch raw", "output of outbox show", // the item, the answer, the event with its record
	"file body", "file decisions.json", // of a bundle, which would not replay otherwise
	"table ing_spec_snapshot.snapshot", "file snapshot.json", "output of source export", "output of source show", "output of source explain", "output of source render", // what a source was told to say of us
}

// people are in what was harvested, and nowhere else.
func (c *canary) people() {
	c.t.Helper()
	for name, content := range c.left {
		if slices.ContainsFunc(bodies, func(b string) bool { return name == b }) {
			continue
		}
		for _, value := range []string{personsAddress, url.QueryEscape(personsAddress), personsNumber} {
			if at := strings.Index(string(content), value); at >= 0 {
				c.t.Errorf("a person stands in %s: …%q…", name, content[max(0, at-80):min(len(content), at+40)])
			}
		}
	}
	for _, place := range []string{"table ing_quarantine.detail", "table ing_batch_evidence.response", "table ing_task_run.error"} {
		if !strings.Contains(string(c.left[place]), "[email:") {
			c.t.Errorf("no person came as far as %s", place)
		}
	}
}

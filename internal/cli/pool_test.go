package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

const pooledSource = `source: pooled
name: Pooled
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
credentials:
  library: {type: API_KEY, name: X-Key, value: env:PATRA_TEST_LIBRARY}
  physics: {type: API_KEY, name: X-Key, value: env:PATRA_TEST_PHYSICS}
  guest: {type: API_KEY, name: X-Key, value: env:PATRA_TEST_GUEST}
  keys: {type: POOL, members: [library, physics]}
auth: {credential: keys}
rate: {perSecond: 1000, burst: 100, quotaPerDay: 90}
retry: {maxAttempts: 2, initialDelay: PT0.001S, maxDelay: PT0.002S}
endpoints:
  works:
    role: SEARCH
    request: {path: /works, query: {from: "${filter.from}", to: "${filter.to}"}}
    filter: {field: updated, precision: SECOND}
    paging: {type: ONE}
    window: {safetyLag: PT0S, earliest: "2025-02-01"}
    slicing: {step: P1D}
    response: {items: $.works, id: $.id, updatedAt: $.updated, filtered: $.updated, fields: {title: $.id}}
`

// A pool is compared, written out and read again by its names, and whatever tells of work says which of its members did it.
func TestAPoolOnTheCommandLine(t *testing.T) {
	d := newDesk(t)
	const good, bad = "key-of-the-library", "key-of-nobody"
	t.Setenv("PATRA_TEST_LIBRARY", good)
	t.Setenv("PATRA_TEST_PHYSICS", bad)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != good {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		from, _ := time.Parse(time.RFC3339, r.FormValue("from"))
		_ = json.NewEncoder(w).Encode(map[string]any{"works": []any{map[string]any{"id": from.Format(time.DateOnly), "updated": from}}})
	}))
	t.Cleanup(server.Close)
	text := fmt.Sprintf(pooledSource, server.URL)
	file := d.write("pooled.yaml", text)
	d.expect(0, "db", "migrate")
	d.expect(0, "source", "apply", file, "--trust")
	d.expect(0, "source", "diff", file)

	// What is written out is the same pool, and holds no secret.
	exported := d.expect(0, "source", "export", "pooled").out
	if !strings.Contains(exported, "members: [library, physics]") || !strings.Contains(exported, "type: POOL") || strings.Contains(exported, "key-of") {
		t.Error(exported)
	}
	d.expect(0, "source", "diff", d.write("again.yaml", exported))
	larger := d.write("larger.yaml", strings.Replace(text, "members: [library, physics]", "members: [library, physics, guest]", 1))
	if r := d.expect(8, "source", "diff", larger); !strings.Contains(r.out, "~ credentials.keys.members [library, physics] -> [library, physics, guest]\n") {
		t.Error(r.out)
	}
	none := d.write("none.yaml", strings.NewReplacer("  keys: {type: POOL, members: [library, physics]}\n", "", "credential: keys", "credential: library").Replace(text))
	r := d.expect(8, "source", "diff", none)
	for _, want := range []string{"~ auth.credential keys -> library\n", "- credentials.keys.members [library, physics]\n", "- credentials.keys.type POOL\n"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}

	d.expect(0, "harvest", "pooled", "--from", "2025-03-01", "--to", "2025-03-07", "--now", "2025-03-07")
	signed := regexp.MustCompile(`credentials +library: [1-9]\d* requests?`)
	refused := regexp.MustCompile(`(?s)physics: 1 request, refused +\(.*401`)
	var runs, tasks int
	for n := 1; n <= 6; n++ {
		run, task := d.expect(0, "run", "show", fmt.Sprint(n)).out, d.expect(0, "task", "show", fmt.Sprint(n)).out
		if !signed.MatchString(run) || !signed.MatchString(task) {
			t.Errorf("run %d\n%s\ntask %d\n%s", n, run, n, task)
		}
		if refused.MatchString(run) {
			runs++
		}
		if refused.MatchString(task) {
			tasks++
		}
		batch := d.expect(0, "batch", "show", fmt.Sprint(n)).out
		if !strings.Contains(batch, `"credential": "library"`) {
			t.Errorf("batch %d\n%s", n, batch)
		}
		if strings.Contains(run+task+batch, "key-of") {
			t.Errorf("a secret is shown\n%s%s%s", run, task, batch)
		}
	}
	if runs == 0 || tasks != runs {
		t.Errorf("%d runs and %d tasks tell that a member was refused", runs, tasks)
	}
	for key, want := range map[string]string{
		"pooled":         `pool of +library, physics: each is counted under a key of its own`,
		"pooled:library": `credential +library, of the pool of pooled`,
		"pooled:physics": `credential +physics, of the pool of pooled`,
	} {
		if out := d.expect(0, "rate", "show", key).out; !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s\n%s", key, out)
		}
	}
}

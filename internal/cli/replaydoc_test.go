package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/upsim"
)

// The page shows what the program prints, in this order: a harvest of two days, three
// pages each, of a source that is read a second time with another question after a
// work of its first page has changed.
func TestReplayPageIsTrue(t *testing.T) {
	all := examples(t, "../../docs/replay.md")
	if len(all) < 7 {
		t.Fatalf("only %d examples were found", len(all))
	}
	h, data := newHistory(t), upsim.NewDataset(upsim.Config{Seed: 7, From: march(1), To: march(8), PerDay: 12, Flat: true})
	var err error
	if h.server, err = upsim.NewServer(data, upsim.Options{Cursor: upsim.ScrollCursor}); err == nil {
		err = h.server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer h.server.Close()
	t.Setenv("PATRA_RAW_DIR", "")
	t.Chdir(h.dir)
	h.applied()
	harvest := []string{"harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-03", "--now", "2025-03-07", "--workers", "1", "-q",
		"--set", "paging.size=5", "--set", "contact.email=demo@example.org"}
	h.expect(term.ExitOK, harvest...)
	h.write("crossref.yaml", strings.Replace(h.expect(term.ExitOK, "source", "export", "crossref").out, "publisher: $.publisher", "publisher: $.type", 1))
	before := h.dump()
	seal := ""
	for _, e := range all {
		switch command := strings.Join(e.args, " "); {
		case strings.HasSuffix(command, "1/1 --from upstream"):
			h.changes(data)
		case strings.HasPrefix(command, "batch export"):
			if h.dump() != before {
				t.Error("a replay wrote something")
			}
		case strings.HasPrefix(command, "run diff"):
			h.expect(term.ExitOK, append(harvest, "--set", "request.query.query=other")...)
		}
		for n := range e.args {
			if n > 0 && e.args[n-1] == "--seal" {
				e.args[n] = seal
			}
		}
		got := h.run(e.args...)
		if !shows(e.out, got.out+got.err) {
			t.Errorf("patra %s prints\n%s%s\nthe page says\n%s", strings.Join(e.args, " "), got.out, got.err, e.out)
		}
		if _, after, is := strings.Cut(got.out, "\nseal "); is {
			seal = strings.Fields(after)[0]
		}
	}
}

// changes lets the first work of the first batch change upstream.
func (h *history) changes(data *upsim.Dataset) {
	h.Helper()
	for truth := range data.Heads() {
		if err := data.Touch(truth.DOI, truth.Indexed, true); err != nil {
			h.Fatal(err)
		}
		return
	}
}

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/registry"
)

// repositoryServer answers as an OAI-PMH repository does, in the shapes that were recorded;
// what a verb answers can be replaced.
func repositoryServer(t *testing.T, answers map[string]string) *httptest.Server {
	t.Helper()
	yesterday := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	usual := map[string]string{
		"Identify": `<Identify><repositoryName>Library &amp; Archive</repositoryName><baseURL>http://x/oai</baseURL><protocolVersion>2.0</protocolVersion>
<adminEmail>jane.doe@example.org</adminEmail><earliestDatestamp>2001-02-03T04:05:06Z</earliestDatestamp><deletedRecord>persistent</deletedRecord><granularity>YYYY-MM-DDThh:mm:ssZ</granularity></Identify>`,
		"ListMetadataFormats": `<ListMetadataFormats><metadataFormat><metadataPrefix>mods</metadataPrefix></metadataFormat><metadataFormat><metadataPrefix>oai_dc</metadataPrefix></metadataFormat></ListMetadataFormats>`,
		"ListSets":            `<ListSets><set><setSpec>col:1</setSpec><setName>First</setName></set><set><setSpec>col:2</setSpec><setName>Second</setName></set><resumptionToken>more</resumptionToken></ListSets>`,
		"ListRecords": `<ListRecords><record><header><identifier>oai:x:1</identifier><datestamp>` + yesterday + `T05:00:00Z</datestamp></header>
<metadata><oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>One</dc:title></oai_dc:dc></metadata></record><resumptionToken/></ListRecords>`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verb := r.URL.Query().Get("verb")
		body, replaced := answers[verb]
		if !replaced {
			body = usual[verb]
		}
		if strings.HasPrefix(body, "raw:") {
			fmt.Fprint(w, strings.TrimPrefix(body, "raw:"))
			return
		}
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><responseDate>2026-01-01T00:00:00Z</responseDate><request verb=%q>http://x/oai</request>%s</OAI-PMH>`, verb, body)
	}))
	t.Cleanup(server.Close)
	return server
}

// One command makes a file of a repository that is valid and was tried.
func TestSourceNewFromARepository(t *testing.T) {
	d := newDesk(t)
	server := repositoryServer(t, nil)
	file := filepath.Join(d.TempDir(), "lib.yaml")
	refused := d.expect(term.ExitUsage, "source", "new", "lib", "--oai", server.URL+"/oai", "--file", file, "--allow-http")
	d.holds(refused.err, "no file was written", "--allow-private")
	if _, err := os.Stat(file); err == nil {
		t.Fatal("a file was written for an address that was refused")
	}
	r := d.expect(term.ExitOK, "source", "new", "lib", "--oai", server.URL+"/oai?verb=Identify", "--file", file, "--allow-http", "--allow-private")
	d.holds(r.out, "Library & Archive", "since 2001-02-03T04:05:06Z", "persistent", "[mods oai_dc]", "2 sets, and more")
	d.holds(r.err, "tried: 1 record")
	if strings.Contains(r.out+r.err, "jane.doe") {
		t.Error("the address of a person is shown")
	}
	src, _, err := registry.Decode(file, []byte(d.read(file)))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := registry.Resolve(src, "records", "HARVEST", nil)
	if err != nil || resolved.Filter.Precision != "SECOND" || !strings.HasPrefix(resolved.Window.Earliest, "2001-02-03") {
		t.Errorf("%+v, %v", resolved.Filter, err)
	}
	d.expect(term.ExitOK, "source", "test", file)
	d.expect(term.ExitConflict, "source", "new", "lib", "--oai", server.URL+"/oai", "--file", file, "--allow-http", "--allow-private")
	var made source.CreatedFromRepository
	d.decode(d.expect(term.ExitOK, "source", "new", "two", "--oai", server.URL+"/oai", "--file", file+"2.yaml", "--set-spec", "col:1", "--allow-http", "--allow-private", "-o", "json").out, &made)
	if made.Facts.Granularity == "" || len(made.Facts.Sets) != 2 || made.File == "" {
		t.Errorf("%+v", made)
	}
	d.holds(d.expect(term.ExitOK, "source", "render", file+"2.yaml", "--window", firstOfMarch).out, "set=col%3A1")
}

// Sets are partitions where that is asked for, if all of them are known.
func TestSourceNewBySet(t *testing.T) {
	d := newDesk(t)
	sets := `<ListSets><set><setSpec>col</setSpec></set><set><setSpec>col:1</setSpec></set><set><setSpec>rare</setSpec></set></ListSets>`
	server, more := repositoryServer(t, map[string]string{"ListSets": sets}), repositoryServer(t, nil)
	file := filepath.Join(d.TempDir(), "lib.yaml")
	agreed := []string{"--file", file, "--allow-http", "--allow-private", "--by-set"}
	d.holds(d.expect(term.ExitUsage, append([]string{"source", "new", "lib", "--oai", more.URL + "/oai"}, agreed...)...).err, "several pages")
	d.holds(d.expect(term.ExitUsage, append([]string{"source", "new", "lib", "--oai", server.URL + "/oai", "--set-spec", "col"}, agreed...)...).err, "--by-set")
	if _, err := os.Stat(file); err == nil {
		t.Fatal("a file was written that lacks sets")
	}
	made := d.expect(term.ExitOK, append([]string{"source", "new", "lib", "--oai", server.URL + "/oai"}, agreed...)...)
	d.holds(made.err, "tried: 1 record", "in no set")
	d.expect(term.ExitOK, "source", "apply", file)
	d.expect(term.ExitOK, "harvest", "lib")
	d.expect(term.ExitOK, "cursor", "show", "1", "--partition", "set=rare")
	d.holds(d.expect(term.ExitUsage, "cursor", "show", "1", "--partition", "set=col:1").err, "set=col, set=rare") // it lies within another
}

// Servers that do not keep to the protocol give a careful file with a note, or a refusal
// that says what to do.
func TestSourceNewFromABrokenRepository(t *testing.T) {
	page := "raw:<!DOCTYPE html><html><body>Welcome to our library</body></html>"
	for name, c := range map[string]struct {
		answers map[string]string
		code    int
		says    []string
	}{
		"a page for people":    {map[string]string{"Identify": page}, term.ExitUsage, []string{"no OAI-PMH repository answers there", "/oai/request", "no file was written"}},
		"an error":             {map[string]string{"Identify": `<error code="badVerb">no</error>`}, term.ExitUpstream, []string{"no OAI-PMH repository answers there", "no file was written"}},
		"bad XML":              {map[string]string{"Identify": "raw:<OAI-PMH><Identify><repositoryName>A & B</repositoryName></Identify></OAI-PMH>"}, term.ExitOK, []string{"Identify cannot be read", "days are asked for", "window.earliest"}},
		"an old version":       {map[string]string{"Identify": `<Identify><protocolVersion>1.1</protocolVersion></Identify>`}, term.ExitUsage, []string{"version 1.1", "no file was written"}},
		"nothing in Identify":  {map[string]string{"Identify": `<Identify><repositoryName/></Identify>`}, term.ExitOK, []string{"days are asked for", "window.earliest", "announces deletions"}},
		"a granularity apart":  {map[string]string{"Identify": `<Identify><earliestDatestamp>2001-02-03</earliestDatestamp><deletedRecord>no</deletedRecord><granularity>YYYY-MM-DDThh:mm:ssZ</granularity></Identify>`}, term.ExitOK, []string{"seconds, but", "does not announce deletions"}},
		"formats as a page":    {map[string]string{"ListMetadataFormats": page}, term.ExitOK, []string{"formats could not be asked for", "oai_dc is taken"}},
		"no sets":              {map[string]string{"ListSets": `<error code="noSetHierarchy">none</error>`}, term.ExitOK, nil},
		"sets that fail":       {map[string]string{"ListSets": "raw:oops"}, term.ExitOK, []string{"sets could not be asked for"}},
		"nothing changed":      {map[string]string{"ListRecords": `<error code="noRecordsMatch">none</error>`}, term.ExitOK, []string{"tried: 0 records"}},
		"records that fail":    {map[string]string{"ListRecords": page}, term.ExitUsage, []string{"was written and is valid, but its first request failed"}},
		"a token with a size":  {map[string]string{"ListRecords": `<ListRecords><record><header><identifier>a</identifier><datestamp>2001-01-01T00:00:00Z</datestamp></header></record><resumptionToken completeListSize="9" cursor="0">t!1</resumptionToken></ListRecords>`}, term.ExitOK, []string{"tried: 1 record"}},
		"an empty token alone": {map[string]string{"ListRecords": `<ListRecords><resumptionToken></resumptionToken></ListRecords>`}, term.ExitUsage, []string{"was written and is valid, but its first request failed", "resumptionToken"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			file := filepath.Join(d.TempDir(), "lib.yaml")
			r := d.run("source", "new", "lib", "--oai", repositoryServer(t, c.answers).URL+"/oai", "--file", file, "--allow-http", "--allow-private")
			if r.code != c.code {
				t.Errorf("exit code %d, want %d\n%s%s", r.code, c.code, r.out, r.err)
			}
			d.holds(r.err, c.says...)
			_, err := os.Stat(file)
			if written := err == nil; written == strings.Contains(r.err, "no file was written") {
				t.Errorf("written: %v\n%s", written, r.err)
			}
			if err == nil {
				d.expect(term.ExitOK, "source", "validate", file)
			}
		})
	}
}

// Every form to start from is written, valid and rendered.
func TestSourceNewLike(t *testing.T) {
	d := newDesk(t)
	for _, form := range registry.SkeletonForms() {
		file := filepath.Join(d.TempDir(), form+".yaml")
		d.expect(term.ExitOK, "source", "new", "mine", "--like", form, "--file", file)
		d.expect(term.ExitOK, "source", "validate", file)
		d.holds(d.expect(term.ExitOK, "source", "render", file, "--window", firstOfMarch).out, "https://")
	}
	d.holds(d.expect(term.ExitUsage, "source", "new", "mine", "--like", "tape", "--file", "-").err, "two-step")
	d.expect(term.ExitUsage, "source", "new", "mine", "--prefix", "mods", "--file", "-")
	d.expect(term.ExitUsage, "source", "new", "mine", "--like", "oai", "--oai", "https://x.example/oai")
}

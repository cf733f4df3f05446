package cli

import (
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

const hubFile = `source: hub
name: Hub
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
filter: {field: updated}
paging: {type: ONE}
endpoints:
  repos:
    role: SEARCH
    request: {path: /repos, query: {from: "${filter.from}", to: "${filter.to}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated_at, fields: {name: $.id}}
`

const trackerFile = `source: tracker
name: Tracker
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
filter: {field: updated}
paging: {type: ONE}
endpoints:
  issues:
    role: SEARCH
    partitions: {repo: {from: {source: hub, endpoint: repos, value: $.id}}}
    request: {path: "/issues/of-${partition.repo}", query: {from: "${filter.from}", to: "${filter.to}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated_at, fields: {name: $.id}}
`

// What a file sends of the records of another source is named, and not sent before somebody agreed; what is wrong with the other
// source is told with the next step.
func TestTrust01RecordsOfAnotherSourceNeedConsent(t *testing.T) {
	d, hub, tracker := newDesk(t), newUpstream(t), newUpstream(t)
	one, other := d.write("hub.yaml", fmt.Sprintf(hubFile, hub.URL)), d.write("tracker.yaml", fmt.Sprintf(trackerFile, tracker.URL))
	wants := "sends what is stored of hub/repos to " + tracker.host()
	d.holds(d.expect(term.ExitOK, "source", "validate", other).err, "W-RECORDS-HOST", wants)
	d.holds(d.expect(term.ExitUsage, "source", "apply", other).err, "endpoints.issues.partitions.repo.from.source: E-PARTITION: there is no source hub", "apply it first")
	d.holds(d.expect(term.ExitOK, "source", "apply", other, one).err, "W-RECORDS-HOST", "source tracker waits for consent to send what is stored of hub/repos to "+tracker.host(), "patra source trust tracker")
	d.holds(d.expect(term.ExitOK, "source", "export", "tracker").out, "source: hub")
	d.holds(d.expect(term.ExitOK, "source", "show", "tracker").out, "each stored record of hub/repos, as repo")
	window := []string{"--from", "2025-03-01", "--to", "2025-03-02"}
	d.expect(term.ExitOK, append([]string{"harvest", "hub"}, window...)...)
	d.holds(d.expect(term.ExitAuth, append([]string{"harvest", "tracker"}, window...)...).err, "nothing was read, run or sent", "send what is stored of hub/repos to "+tracker.host(), "patra source trust tracker")
	if heard := tracker.heard(); heard != "" {
		t.Fatalf("sent without consent: %s", heard)
	}
	d.expect(term.ExitOK, "source", "test", "tracker", "--partition", "repo=17") // what a person typed is no stored record
	d.trusts("tracker")
	d.holds(d.expect(term.ExitOK, "source", "trust").out, "records:hub/repos", tracker.host(), "agreed to")
	d.expect(term.ExitOK, append([]string{"harvest", "tracker"}, window...)...)
	d.holds(tracker.heard(), "/issues/of-a?")
	d.holds(d.expect(term.ExitOK, "source", "rm", "hub", "--dry-run").out, "stops", "the harvests of tracker")
	d.expect(term.ExitOK, "source", "rm", "hub", "--keep-records", "--reason", "over", "--yes")
	d.holds(d.expect(term.ExitUsage, append([]string{"harvest", "tracker"}, window...)...).err, "the parts of tracker/issues are records of hub/repos", "there is no source hub", "apply it first")
	d.expect(term.ExitOK, "source", "trust", "records:hub/repos", tracker.host(), "--revoke", "--yes")
}

package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/upsim"
)

// history is a desk with an upstream that campaigns read, one page a day.
type history struct {
	*desk
	server *upsim.Server
	during func()
}

func newHistory(t *testing.T) *history {
	t.Helper()
	h := &history{desk: emptyDesk(t)}
	data := upsim.NewDataset(upsim.Config{Seed: 7, From: march(1), To: march(8), PerDay: 12, Flat: true})
	server, err := upsim.NewServer(data, upsim.Options{OnEntry: func(upsim.Entry) {
		if h.during != nil {
			h.during()
		}
	}})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	h.server = server
	return h
}

// args are a command that works on a campaign, with what this upstream needs.
func (h *history) args(args ...string) []string {
	args = append([]string{"backfill", "crossref", "--now", "2025-03-10", "--workers", "1", "--no-raw"}, args...)
	for _, s := range append(settings(h.server.URL()), "paging.size=50") {
		args = append(args, "--set", s)
	}
	return args
}

func TestBackfillFromTheFirstToTheLastWord(t *testing.T) {
	h := newHistory(t)
	stretch := []string{"--from", "2025-03-01", "--to", "2025-03-05", "--name", "march"}
	dry := h.expect(term.ExitOK, h.args(append(stretch, "--chunk", "2d", "--dry-run")...)...)
	h.noFile()
	h.holds(dry.out, "march", "[2025-03-01T00:00:00Z, 2025-03-05T00:00:00Z)", "newest first", "2, of up to P2D", "4 slices")
	done := h.expect(term.ExitOK, h.args(append(stretch, "--chunk", "2d")...)...)
	h.golden("backfill_done", strings.ReplaceAll(done.out, h.server.URL(), "<the upstream>"))
	h.fits(done.out)
	h.holds(done.err, "march [####################] 100.0 %", "48 read, 48 stored")
	asked := h.server.Requests()
	again := h.expect(term.ExitOK, "backfill", "crossref", "--name", "march", "--now", "2025-03-10")
	h.holds(again.err, "was completed before")
	if n := h.server.Requests(); n != asked {
		t.Errorf("asked %d times for what was read", n-asked)
	}
	listed := h.expect(term.ExitOK, "backfill", "list")
	h.golden("backfill_list", listed.out)
	h.fits(listed.out)
	var one view.Campaign
	h.decode(h.expect(term.ExitOK, "backfill", "show", "march", "-o", "json").out, &one)
	if one.State != ingest.CampaignCompleted || one.Percent != 100 || one.Plans != 2 || one.Stats.Inserted != 48 || len(one.Overrides) == 0 || one.Typed != "2025-03-01..2025-03-05" {
		t.Errorf("%+v", one)
	}
	h.holds(h.expect(term.ExitConflict, h.args("--from", "2025-03-02", "--name", "march")...).err, "march is for")
	h.expect(term.ExitConflict, "backfill", "cancel", "march", "--reason", "x")
}

// Ctrl-C: exit code 130, how to go on, and the same words again are the same campaign.
func TestInterruptedBackfillSaysHowToGoOn(t *testing.T) {
	h := newHistory(t)
	ctx, stop := context.WithCancel(t.Context())
	left := 4 // the first one counts
	h.during = func() {
		if left--; left == 0 {
			stop()
		}
	}
	words := h.args("--from", "2025-03-01", "--to", "2025-03-05")
	var out, err bytes.Buffer
	if code := Main(ctx, append(words, "--db", "sqlite:"+h.file), &out, &err); code != term.ExitInterrupted {
		t.Fatalf("exit code %d: %s", code, err.String())
	}
	h.holds(err.String(), "stands at 50.0 %", "goes on with: patra backfill crossref --name crossref-")
	h.during = nil
	r := h.expect(term.ExitOK, words...)
	h.holds(r.err, "goes on at 50.0 %", "100.0 %")
	var all []view.Campaign
	h.decode(h.expect(term.ExitOK, "backfill", "list", "-o", "json").out, &all)
	if len(all) != 1 || all[0].State != ingest.CampaignCompleted || all[0].Stats.Inserted != 48 {
		t.Errorf("%+v", all)
	}
}

func TestCampaignIsPausedResumedAndCancelled(t *testing.T) {
	h := newHistory(t)
	begun := h.expect(term.ExitOK, h.args("--from", "2025-03-01", "--to", "2025-03-05", "--name", "march", "--detach")...)
	h.holds(begun.err, "campaign march has begun", "patra serve")
	h.holds(begun.out, "ACTIVE", "0.0 %")
	if n := h.server.Requests(); n != 0 {
		t.Errorf("%d requests by a command that was to leave", n)
	}
	by := []string{"--reason", "quota", "--actor", "me"}
	dry := h.writesNothing(append([]string{"backfill", "pause", "march", "--dry-run"}, by...)...)
	h.holds(dry.out+dry.err, "PAUSED", "quota", "nothing was written")
	h.holds(h.expect(term.ExitOK, append([]string{"backfill", "pause", "march"}, by...)...).err, "patra backfill resume march --reason")
	h.holds(h.writesNothing(append([]string{"backfill", "pause", "march"}, by...)...).err, "was PAUSED already")
	r := h.expect(term.ExitConflict, h.args("--name", "march")...)
	h.holds(r.err, "campaign march is PAUSED", "by me: quota", "patra backfill resume march")
	h.holds(h.expect(term.ExitOK, "backfill", "show", "march").out, "PAUSED since", "by me: quota")
	h.expect(term.ExitOK, "backfill", "resume", "march", "--reason", "quota is back")
	var done view.CampaignDone
	h.decode(h.expect(term.ExitOK, "backfill", "cancel", "march", "--reason", "wrong", "-o", "json").out, &done)
	if done.State != ingest.CampaignCancelled || !done.Changed || done.Reason != "wrong" {
		t.Errorf("%+v", done)
	}
	h.holds(h.expect(term.ExitConflict, h.args("--from", "2025-03-01", "--to", "2025-03-05", "--name", "march")...).err, "is CANCELLED", "backfill resume march")
	h.expect(term.ExitOK, "backfill", "resume", "march", "--reason", "after all")
	h.expect(term.ExitOK, h.args("--name", "march")...)
	db := h.db()
	defer db.Close()
	want := []string{"campaign.open", "campaign.pause", "campaign.resume", "campaign.cancel", "campaign.resume"}
	if got := h.column(db, "SELECT action FROM ing_audit_log WHERE object = 'campaign/march' ORDER BY id"); !slices.Equal(got, want) {
		t.Errorf("audit log %q", got)
	}
}

// A day that can never be read is waived: the campaign ends, and says so.
func TestWaiveAWindowOfACampaign(t *testing.T) {
	h := newHistory(t)
	h.server.Close()
	server, err := startUpstream("2025-03-03")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	h.server = server
	words := h.args("--from", "2025-03-01", "--to", "2025-03-05", "--name", "march")
	h.expect(term.ExitPartial, words...)
	waive := []string{"backfill", "waive", "march", "--from", "2025-03-02", "--to", "2025-03-05", "--reason", "lost there", "--actor", "ann"}
	h.expect(term.ExitUsage, "backfill", "waive", "march", "--from", "2025-03-02", "--to", "2025-03-05")
	h.expect(term.ExitUsage, "backfill", "waive", "march", "--reason", "x")
	h.expect(term.ExitNotFound, "backfill", "waive", "none", "--from", "2025-03-02", "--to", "2025-03-05", "--reason", "x")
	h.expect(term.ExitUsage, "backfill", "waive", "march", "--from", "2025-04-02", "--to", "2025-04-05", "--reason", "x")
	dry := h.writesNothing(append(waive, "--dry-run")...)
	h.holds(dry.out+dry.err, "[2025-03-03, 2025-03-04)", "COMPLETED", "nothing was written")
	h.holds(h.writesNothing(waive...).err, "--yes")
	h.expect(term.ExitOK, append(waive, "--yes")...)
	shown := h.expect(term.ExitOK, "backfill", "show", "march").out
	h.holds(shown, "COMPLETED", "100.0 %", "waived", "[2025-03-03, 2025-03-04)")
	h.fits(shown)
	h.holds(h.expect(term.ExitOK, words...).err, "was completed before")
	h.expect(term.ExitOK, "cursor", "verify")
	db := h.db()
	defer db.Close()
	if got := h.column(db, "SELECT actor || ' ' || object || ' ' || reason FROM ing_audit_log WHERE action = 'campaign.waive'"); !slices.Equal(got, []string{"ann campaign/march lost there"}) {
		t.Errorf("audit log %q", got)
	}
}

func TestBackfillIsRefused(t *testing.T) {
	h := newHistory(t)
	for _, c := range []struct {
		code int
		args string
		says string
	}{
		{term.ExitUsage, "crossref", "--from"},
		{term.ExitUsage, "crossref --name new", "--from"},
		{term.ExitUsage, "crossref --from 2025-03-05 --to 2025-03-01", "not before"},
		{term.ExitUsage, "crossref --from 2025-03-01 --order best", "newest or oldest"},
		{term.ExitUsage, "crossref --from 2025-03-01 --chunk 1s", "--chunk"},
		{term.ExitUsage, "crossref --from 2025-03-01 --name a/b", "name"},
		{term.ExitUsage, "crossref --from soon", "--from"},
		{term.ExitNotFound, "nobody --from 2025-03-01", "nobody"},
	} {
		for _, more := range []string{"", " --dry-run"} {
			r := h.run(append([]string{"backfill"}, strings.Fields(c.args+more)...)...)
			if r.code != c.code || !strings.Contains(r.err, c.says) {
				t.Errorf("%s%s: exit code %d, want %d: %s", c.args, more, r.code, c.code, r.err)
			}
		}
	}
	h.noFile()
	h.empty()
	for _, c := range []struct {
		code int
		args string
	}{
		{term.ExitNotFound, "show none"}, {term.ExitNotFound, "pause none --reason x"}, {term.ExitUsage, "pause none"}, {term.ExitUsage, "cancel none"},
		{term.ExitUsage, "resume none"}, {term.ExitUsage, "list --state BUSY"}, {term.ExitUsage, "show"},
	} {
		if r := h.run(append([]string{"backfill"}, strings.Fields(c.args)...)...); r.code != c.code {
			t.Errorf("%s: exit code %d, want %d: %s", c.args, r.code, c.code, r.err)
		}
	}
	h.holds(h.expect(term.ExitOK, "backfill", "list").err, "there are none")
}

// A range ends where the harvest begins, and says so; above it there is nothing.
func TestBackfillEndsAtTheWatermark(t *testing.T) {
	d := harvested(t)
	r := d.expect(term.ExitOK, "backfill", "crossref", "--from", "2025-02-01", "--to", "2025-03-05", "--now", "2025-03-10", "--detach")
	d.holds(r.out, "[2025-02-01T00:00:00Z, 2025-03-03T00:00:00Z)")
	d.holds(r.err, "the range ends at 2025-03-03T00:00:00Z, not at --to")
	r = d.expect(term.ExitOK, "backfill", "crossref", "--from", "2025-03-04", "--now", "2025-03-10")
	d.holds(r.out, "nothing to do", "watermark")
}

package daemon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
)

// shelvedArticles is an upstream in the shape of PubMed: articles by the day they were
// created, numbered in that order, of which a search serves only the first most.
type shelvedArticles struct {
	first   time.Time
	perDay  func(day int) int
	days    int
	most    int
	created []time.Time // by number, less the first one
	refused int
}

const firstPMID = 38_000_000

func (s *shelvedArticles) fill() {
	for day := range s.days {
		for range s.perDay(day) {
			s.created = append(s.created, s.first.AddDate(0, 0, day))
		}
	}
}

var (
	ofDays    = regexp.MustCompile(`\((\d{4}/\d\d/\d\d)\[CRDT\] : (\d{4}/\d\d/\d\d)\[CRDT\]\)`)
	ofNumbers = regexp.MustCompile(`\((\d+):(\d+)\[UID\]\)`)
)

func (s *shelvedArticles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/efetch.fcgi") {
		s.fetch(w, strings.Split(r.FormValue("id"), ","))
		return
	}
	days, numbers := ofDays.FindStringSubmatch(r.FormValue("term")), ofNumbers.FindStringSubmatch(r.FormValue("term"))
	if days == nil {
		http.Error(w, "no days", http.StatusBadRequest)
		return
	}
	low, high := 0, 1<<40
	if numbers != nil {
		low, _ = strconv.Atoi(numbers[1])
		high, _ = strconv.Atoi(numbers[2])
	}
	start, _ := strconv.Atoi(r.FormValue("retstart"))
	size, _ := strconv.Atoi(r.FormValue("retmax"))
	if start >= s.most {
		s.refused++
		_ = json.NewEncoder(w).Encode(map[string]any{"esearchresult": map[string]any{"ERROR": "Search Backend failed"}})
		return
	}
	ids, count := []string{}, 0
	for i, at := range s.created {
		day, number := at.Format("2006/01/02"), firstPMID+i
		if day < days[1] || day > days[2] || number < low || number > high {
			continue
		}
		if count++; count > start && len(ids) < min(size, s.most) {
			ids = append(ids, fmt.Sprint(number))
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"esearchresult": map[string]any{"count": fmt.Sprint(count), "idlist": ids}})
}

func (s *shelvedArticles) fetch(w http.ResponseWriter, ids []string) {
	fmt.Fprint(w, `<?xml version="1.0"?><PubmedArticleSet>`)
	for _, id := range ids {
		n, _ := strconv.Atoi(id)
		at := s.created[n-firstPMID]
		fmt.Fprintf(w, `<PubmedArticle><MedlineCitation><PMID Version="1">%d</PMID><DateRevised><Year>%d</Year><Month>%02d</Month><Day>%02d</Day></DateRevised>`+
			`<Article><ArticleTitle>Article %d</ArticleTitle></Article></MedlineCitation></PubmedArticle>`, n, at.Year(), at.Month(), at.Day(), n)
	}
	fmt.Fprint(w, `</PubmedArticleSet>`)
}

// D§5.12: the bundled PubMed is harvested whole through the limit of a search, also on a day
// that holds more than it serves. The proof has a year with a day of 60,000 articles and the
// real limit; every run has two weeks, a day of 600 and a limit of 99.
func TestPubMedIsHarvestedWholeThroughItsLimit(t *testing.T) {
	harvestCrowdedDay(t, 14, 600, 99, 20)
}

// The same at full size, for `make proof`.
func TestProofAYearOfPubMed(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	harvestCrowdedDay(t, 366, 60_000, 9999, 25)
}

// harvestCrowdedDay harvests days with the usual number of articles, and one with a crowd of them, where a search serves at most so many.
func harvestCrowdedDay(t *testing.T, days, crowd, most, usual int) {
	up := &shelvedArticles{first: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), days: days, most: most, perDay: func(day int) int {
		if day == days/2 {
			return crowd
		}
		return usual
	}}
	up.fill()
	server := httptest.NewServer(up)
	defer server.Close()
	text, err := catalog.Read("pubmed")
	if err != nil {
		t.Fatal(err)
	}
	src, _, err := registry.Decode("pubmed.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	var set []registry.Override
	for _, setting := range []string{
		"http.baseUrl=" + server.URL, "http.allowHttp=true", "http.allowPrivate=true", "rate.perSecond=2000", "rate.burst=100", "contact.email=test@example.org",
		fmt.Sprint("paging.maxResults=", most), fmt.Sprint("paging.size=", most), fmt.Sprint("paging.maxSize=", most),
	} {
		o, err := registry.ParseOverride(setting)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, o)
	}
	c, err := Compile(src, "articles", ingest.Harvest, set)
	if err != nil {
		t.Fatal(err)
	}
	onBothDatabases(t, func(t *testing.T, database string) {
		migrate(t, database)
		app, err := Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 2, Raw: RawConfig{Dir: filepath.Join(t.TempDir(), "raw")}})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		now := up.first.AddDate(0, 0, days).Add(12 * time.Hour)
		for round := range 2 {
			h, err := app.Harvest(t.Context(), c, NewRequest(now.Add(time.Duration(round)*time.Hour), &up.first, nil), Watch{})
			s := h.Plan.Stats
			if err != nil || h.Plan.Slices[string(ingest.SliceFailed)] > 0 {
				t.Fatalf("harvest %d: %v %+v %v", round+1, h.Plan.Slices, s, err)
			}
			if round == 0 && int(s.Inserted) != len(up.created) || round == 1 && s.Inserted+s.Updated > 0 {
				t.Errorf("harvest %d: %d inserted and %d updated of %d articles", round+1, s.Inserted, s.Updated, len(up.created))
			}
		}
		if up.refused > 0 {
			t.Errorf("%d searches went beyond the limit", up.refused)
		}
		replaysParts(t, app)
	})
}

// replaysParts does batches again whose requests asked for a part of a day: each is rendered
// as it was.
func replaysParts(t *testing.T, app *App) {
	t.Helper()
	batches, err := app.Tasks.ListBatches(t.Context(), view.Filter{Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	parts := 0
	for _, b := range batches {
		detail, err := app.Tasks.ShowBatch(t.Context(), b.ID)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(detail.Request), `"axisPart"`) {
			continue
		}
		parts++
		report, err := app.Replays.Replay(t.Context(), BatchRef{BatchID: b.ID}, ReplayOptions{From: ReplayRaw, At: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if report.Request == nil || !report.Identical {
			t.Errorf("batch %d: %+v", b.ID, report.Differences)
		}
	}
	if parts < 6 {
		t.Errorf("only %d batches of parts", parts)
	}
}

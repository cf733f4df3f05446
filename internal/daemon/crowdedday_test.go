package daemon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// shelvedArticles is an upstream in the shape of PubMed: articles by the day they were
// created and the day they were last revised, numbered in the order of the former. A search
// serves only the first `most` of them.
type shelvedArticles struct {
	first   time.Time
	perDay  func(day int) int
	days    int
	most    int
	created []time.Time // by number, less the first one
	revised []time.Time
	refused int
}

const firstPMID = 38_000_000

func (s *shelvedArticles) fill() {
	for day := range s.days {
		for range s.perDay(day) {
			s.created = append(s.created, s.first.AddDate(0, 0, day))
		}
	}
	s.revised = slices.Clone(s.created)
}

var (
	ofDays    = regexp.MustCompile(`\((\d{4}/\d\d/\d\d)\[(CRDT|MDAT)\] : (\d{4}/\d\d/\d\d)\[(?:CRDT|MDAT)\]\)`)
	ofNumbers = regexp.MustCompile(`\((\d+):(\d+)\[UID\]\)`)
)

// askedDays returns which articles a request asks for by their days: those for which one of
// its ranges holds.
func (s *shelvedArticles) askedDays(r *http.Request) (asks func(i int) bool, ok bool) {
	days := map[string][2]string{}
	for _, m := range ofDays.FindAllStringSubmatch(r.FormValue("term"), -1) {
		days[m[2]] = [2]string{m[1], m[3]}
	}
	if r.FormValue("datetype") == "mdat" {
		days["MDAT"] = [2]string{r.FormValue("mindate"), r.FormValue("maxdate")}
	}
	lies := func(at time.Time, field string) bool {
		span, day := days[field], at.Format("2006/01/02")
		return span[0] <= day && day <= span[1]
	}
	return func(i int) bool { return lies(s.created[i], "CRDT") || lies(s.revised[i], "MDAT") }, len(days) > 0
}

func (s *shelvedArticles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/efetch.fcgi") {
		s.fetch(w, strings.Split(r.FormValue("id"), ","))
		return
	}
	asks, ok := s.askedDays(r)
	numbers := ofNumbers.FindStringSubmatch(r.FormValue("term"))
	if !ok {
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
	for i := range s.created {
		number := firstPMID + i
		if number < low || number > high || !asks(i) {
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
		at := s.revised[n-firstPMID]
		fmt.Fprintf(w, `<PubmedArticle><MedlineCitation><PMID Version="1">%d</PMID><DateRevised><Year>%d</Year><Month>%02d</Month><Day>%02d</Day></DateRevised>`+
			`<Article><ArticleTitle>Article %d</ArticleTitle></Article></MedlineCitation></PubmedArticle>`, n, at.Year(), at.Month(), at.Day(), n)
	}
	fmt.Fprint(w, `</PubmedArticleSet>`)
}

// D§5.12: the bundled PubMed is harvested whole through the limit of a search, also on a day
// that holds more than it serves. The proof has a year with a day of 60,000 articles and the
// real limit; every run has two weeks, a day of 600 and a limit of 99.
func TestPubMedIsHarvestedWholeThroughItsLimit(t *testing.T) {
	for _, field := range []string{"change_date", "create_date", "modification_date"} {
		t.Run(field, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, database string) {
				harvestCrowdedDay(t, database, newCrowdedDay(14, 600, 99, 20), "filter.field="+field)
			})
		})
	}
}

// The same at full size, for `make proof`, and a day on which 60,000 articles of the year are revised.
func TestProofAYearOfPubMed(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	onBothDatabases(t, func(t *testing.T, database string) {
		up := newCrowdedDay(366, 60_000, 9999, 25)
		harvestRevisions(t, up, harvestCrowdedDay(t, database, up))
	})
}

// A harvest of PubMed sees revisions of articles that were created long ago, also when more
// of them are revised on one day than a search serves, as once a year.
func TestPubMedHarvestSeesRevisions(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		up := newCrowdedDay(14, 600, 99, 20)
		harvestRevisions(t, up, harvestCrowdedDay(t, database, up))
	})
}

// harvestRevisions revises most articles on one day, and harvests the day after.
func harvestRevisions(t *testing.T, up *shelvedArticles, articles harvestedArticles) {
	t.Helper()
	revised := 0
	for i := range up.revised {
		if i%10 > 0 {
			up.revised[i] = up.first.AddDate(0, 0, up.days+1)
			revised++
		}
	}
	h, err := articles.app.Harvest(t.Context(), articles.asked, NewRequest(up.first.AddDate(0, 0, up.days+2).Add(12*time.Hour), nil, nil), Watch{})
	s := h.Plan.Stats
	if err != nil || h.Plan.Slices[string(ingest.SliceFailed)] > 0 || int(s.Updated) != revised || s.Inserted > 0 {
		t.Errorf("%d of %d revised articles were updated, %d inserted: %v %v", s.Updated, revised, s.Inserted, h.Plan.Slices, err)
	}
}

// newCrowdedDay returns days with the usual number of articles, and one with a crowd of them,
// where a search serves at most so many.
func newCrowdedDay(days, crowd, most, usual int) *shelvedArticles {
	up := &shelvedArticles{first: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), days: days, most: most, perDay: func(day int) int {
		if day == days/2 {
			return crowd
		}
		return usual
	}}
	up.fill()
	return up
}

// harvestedArticles is a program that has harvested articles, and how it asks for them.
type harvestedArticles struct {
	app   *App
	asked *spec.Compiled
}

// compileArticles returns how the bundled PubMed asks this one.
func compileArticles(t *testing.T, up *shelvedArticles, more ...string) *spec.Compiled {
	t.Helper()
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	text, err := catalog.Read("pubmed")
	if err != nil {
		t.Fatal(err)
	}
	src, _, err := registry.Decode("pubmed.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	var set []registry.Override
	for _, setting := range append([]string{
		"http.baseUrl=" + server.URL, "http.allowHttp=true", "http.allowPrivate=true", "rate.perSecond=2000", "rate.burst=100", "contact.email=test@example.org",
		fmt.Sprint("paging.maxResults=", up.most), fmt.Sprint("paging.size=", up.most), fmt.Sprint("paging.maxSize=", up.most),
	}, more...) {
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
	return c
}

// harvestCrowdedDay harvests all articles twice.
func harvestCrowdedDay(t *testing.T, database string, up *shelvedArticles, more ...string) harvestedArticles {
	t.Helper()
	c := compileArticles(t, up, more...)
	localstore.GiveTables(t, database)
	app, err := Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 2, Raw: RawConfig{Dir: filepath.Join(t.TempDir(), "raw")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Close() })
	now := up.first.AddDate(0, 0, up.days).Add(12 * time.Hour)
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
	return harvestedArticles{app: app, asked: c}
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

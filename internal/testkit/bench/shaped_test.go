package bench

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// shaped is a made source whose works have the shape and the size of what Crossref
// gives: people with affiliations, references, licenses, an abstract in every third,
// 2.3 KB of JSON on average. What the simulator gives is padded with one text, and
// packs too well to say anything about room. Pages are made before anything is
// measured and sent from memory.
type shaped struct {
	upstream
	works  int
	perDay int
	bytes  int64 // of all pages
	pages  map[string][]byte
}

// startShaped makes days of works and serves them.
func startShaped(tb testing.TB, days, perDay int) *shaped {
	tb.Helper()
	s := &shaped{works: days * perDay, perDay: perDay, pages: map[string][]byte{}}
	words := newVocabulary(11)
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range days {
		day := firstDay.AddDate(0, 0, i)
		s.days = append(s.days, day)
		group.Go(func() {
			pages := words.makeDay(day, i*perDay, perDay)
			mu.Lock()
			defer mu.Unlock()
			for key, page := range pages {
				s.pages[key], s.bytes = page, s.bytes+int64(len(page))
			}
		})
	}
	group.Wait()
	web := httptest.NewServer(s)
	tb.Cleanup(web.Close)
	s.url = web.URL
	return s
}

// ServeHTTP gives a page of a day, or how many works there are.
func (s *shaped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	bounds := strings.Split(strings.NewReplacer("from-index-date:", "", "until-index-date:", "").Replace(query.Get("filter")), ",")
	key := bounds[0][:min(len(bounds[0]), len(time.DateOnly))]
	switch cursor := query.Get("cursor"); {
	case query.Get("rows") != strconv.Itoa(pageSize): // it only counts
		fmt.Fprintf(w, `{"status":"ok","message":{"total-results":%d,"items":[]}}`, s.countDays(bounds)*s.perDay)
		return
	case cursor == "*":
		key += "/1"
	default:
		key = cursor
	}
	page, there := s.pages[key]
	if !there {
		http.Error(w, "no page "+key, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	_, _ = w.Write(page) // a client that went away is its own problem
}

// countDays tells how many of the days a filter asks for.
func (s *shaped) countDays(bounds []string) (n int) {
	for _, day := range s.days {
		text := day.Format(time.DateOnly)
		if len(bounds) == 2 && text >= bounds[0][:min(len(bounds[0]), len(text))] && text <= bounds[1][:min(len(bounds[1]), len(text))] {
			n++
		}
	}
	return n
}

// makeDay makes the pages of a day by their cursors.
func (v *vocabulary) makeDay(day time.Time, first, works int) map[string][]byte {
	out := map[string][]byte{}
	key := func(page int) string { return day.Format(time.DateOnly) + "/" + strconv.Itoa(page) }
	page := func(no, from, to int) {
		dst := fmt.Appendf(nil, `{"status":"ok","message-type":"work-list","message-version":"1.0.0","message":{"facets":{},"next-cursor":%q,"total-results":%d,"items":[`, key(no+1), works)
		for i := from; i < to; i++ {
			if i > from {
				dst = append(dst, ',')
			}
			dst = v.appendWork(dst, first+i, day.Add(time.Duration(i)*24*time.Hour/time.Duration(works)))
		}
		out[key(no)] = fmt.Appendf(dst, `],"items-per-page":%d,"query":{"start-index":0,"search-terms":null}}}`, to-from)
	}
	for no := 1; (no-1)*pageSize <= works; no++ { // the last one is short, or empty
		page(no, (no-1)*pageSize, min(no*pageSize, works))
	}
	return out
}

// vocabulary is what works are made of.
type vocabulary struct {
	words, families, given, journals, publishers, places []string
}

func newVocabulary(seed uint64) *vocabulary {
	chance := rand.New(rand.NewPCG(seed, 1))
	syllables := strings.Fields("ra ne tol mi sur vek on pla di cus ber at li go sen hy thro mal qui ed ast ver in re con per tion al er ic ous ment str oph lyt gen")
	name := func(least, more int) string {
		text := ""
		for range least + chance.IntN(more) {
			text += syllables[chance.IntN(len(syllables))]
		}
		return text
	}
	list := func(n int, one func() string) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = one()
		}
		return out
	}
	capital := func(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
	v := &vocabulary{}
	v.words = list(8000, func() string { return name(1, 4) })
	v.families = list(5000, func() string { return capital(name(2, 2)) })
	v.given = list(1500, func() string { return capital(name(1, 3)) })
	v.journals = list(3000, func() string { return "Journal of " + capital(v.word(chance)) + " " + capital(v.word(chance)) })
	v.publishers = list(200, func() string { return capital(name(2, 2)) + " Publishing" })
	v.places = list(2000, func() string {
		return "Department of " + capital(v.word(chance)) + ", University of " + capital(name(2, 2)) + ", " + capital(name(2, 2))
	})
	return v
}

// word draws a word; few of them are frequent, as in any text.
func (v *vocabulary) word(chance *rand.Rand) string {
	f := chance.Float64()
	return v.words[int(f*f*f*float64(len(v.words)))]
}

func (v *vocabulary) appendWords(dst []byte, chance *rand.Rand, n int) []byte {
	for i := range n {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, v.word(chance)...)
	}
	return dst
}

func pickFrom(chance *rand.Rand, list []string) string { return list[chance.IntN(len(list))] }

func appendDate(dst []byte, name string, at time.Time) []byte {
	return fmt.Appendf(dst, `"%s":{"date-parts":[[%d,%d,%d]],"date-time":"%s","timestamp":%d}`, name, at.Year(), at.Month(), at.Day(), at.Format(time.RFC3339), at.UnixMilli())
}

// deposited is how many works that follow one another are of one journal.
const deposited = 8

// appendWork writes the work with a number, which is the same in every run.
func (v *vocabulary) appendWork(dst []byte, no int, indexed time.Time) []byte {
	chance := rand.New(rand.NewPCG(uint64(no), 2))
	indexed = indexed.Truncate(time.Second)
	created := indexed.Add(-time.Duration(chance.IntN(20*365*24)) * time.Hour)
	deposit := rand.New(rand.NewPCG(uint64(no/deposited), 3)) // publishers deposit an issue at a time
	prefix, journal := 1000+deposit.IntN(300), deposit.IntN(len(v.journals))
	doi := fmt.Sprintf("10.%d/%s.%d.%d", prefix, pickFrom(chance, v.words), created.Year(), no)
	references := 0
	if chance.IntN(3) > 0 {
		references = chance.IntN(16)
	}
	dst = appendDate(append(dst, '{'), "indexed", indexed)
	dst = fmt.Appendf(dst, `,"reference-count":%d,"publisher":"%s","issue":"%d"`, references, v.publishers[prefix%len(v.publishers)], 1+chance.IntN(12))
	if chance.IntN(2) == 0 {
		dst = appendDate(append(dst, `,"license":[{`...), "start", created)
		dst = append(dst, `,"content-version":"vor","delay-in-days":0,"URL":"https:\/\/creativecommons.org\/licenses\/by\/4.0\/"}]`...)
	}
	dst = append(dst, `,"content-domain":{"domain":[],"crossmark-restriction":false},"short-container-title":[],`...)
	dst = fmt.Appendf(dst, `"published-print":{"date-parts":[[%d,%d]]},"DOI":"%s","type":"journal-article",`, created.Year(), created.Month(), doi)
	dst = appendDate(dst, "created", created)
	begin := 1 + chance.IntN(900)
	dst = fmt.Appendf(dst, `,"page":"%d-%d","source":"Crossref","is-referenced-by-count":%d,"title":["`, begin, begin+chance.IntN(20), chance.IntN(80))
	dst = append(v.appendWords(dst, chance, 6+chance.IntN(9)), `"],"prefix":"10.`...)
	dst = append(strconv.AppendInt(dst, int64(prefix), 10), `","volume":"`...)
	dst = append(strconv.AppendInt(dst, int64(1+chance.IntN(90)), 10), `","author":[`...)
	for i := range 1 + chance.IntN(5) {
		sequence := "additional"
		if i == 0 {
			sequence = "first"
		} else {
			dst = append(dst, ',')
		}
		if chance.IntN(3) == 0 {
			dst = fmt.Appendf(dst, `{"ORCID":"https:\/\/orcid.org\/0000-000%d-%04d-%04d","authenticated-orcid":false,`, 1+chance.IntN(3), chance.IntN(10000), chance.IntN(10000))
		} else {
			dst = append(dst, '{')
		}
		dst = fmt.Appendf(dst, `"given":"%s","family":"%s","sequence":"%s","affiliation":[`, pickFrom(chance, v.given), pickFrom(chance, v.families), sequence)
		if chance.IntN(2) == 0 {
			dst = fmt.Appendf(dst, `{"name":"%s"}`, v.places[(journal+chance.IntN(6))%len(v.places)])
		}
		dst = append(dst, `]}`...)
	}
	dst = fmt.Appendf(dst, `],"member":"%d"`, prefix%400)
	if references > 0 {
		dst = v.appendReferences(append(dst, `,"reference":[`...), chance, journal, references)
		dst = append(dst, ']')
	}
	dst = fmt.Appendf(dst, `,"container-title":["%s"],"language":"en","link":[{"URL":"https:\/\/content.example\/%d\/article\/%d\/pdf","content-type":"unspecified","content-version":"vor","intended-application":"similarity-checking"}],`, v.journals[journal], prefix, no)
	dst = appendDate(dst, "deposited", indexed.Add(-time.Duration(chance.IntN(86400))*time.Second))
	dst = fmt.Appendf(dst, `,"score":%.5f,"resource":{"primary":{"URL":"https:\/\/content.example\/%d\/article\/%d"}},"issued":{"date-parts":[[%d,%d]]},"references-count":%d,"URL":"https:\/\/doi.org\/%s","ISSN":["%04d-%04d"]`,
		20*chance.Float64(), prefix, no, created.Year(), created.Month(), references, strings.ReplaceAll(doi, "/", `\/`), journal, journal*3%10000)
	if chance.IntN(3) == 0 {
		dst = append(v.appendWords(append(dst, `,"abstract":"<jats:p>`...), chance, 50+chance.IntN(70)), `<\/jats:p>"`...)
	}
	return append(dst, '}')
}

func (v *vocabulary) appendReferences(dst []byte, chance *rand.Rand, journal, n int) []byte {
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if chance.IntN(3) > 0 {
			dst = fmt.Appendf(dst, `{"key":"ref%d","doi-asserted-by":"publisher","DOI":"10.%d\/%s.%d"}`, i+1, 1000+chance.IntN(300), pickFrom(chance, v.words), chance.IntN(1_000_000))
			continue
		}
		dst = fmt.Appendf(dst, `{"key":"ref%d","author":"%s","volume":"%d","first-page":"%d","year":"%d","journal-title":"%s"}`,
			i+1, pickFrom(chance, v.families), 1+chance.IntN(200), 1+chance.IntN(2000), 1970+chance.IntN(55), v.journals[(journal+chance.IntN(30))%len(v.journals)])
	}
	return dst
}

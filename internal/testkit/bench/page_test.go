package bench

import (
	"bytes"
	"fmt"
	"strings"
)

const pageItems = 100

// richPage is a page as Crossref sends it: members in no order, escaped slashes,
// references and licences that nobody asked for. The simulator's works are too
// plain to say something about reading.
func richPage() []byte {
	var b bytes.Buffer
	b.WriteString(`{"status":"ok","message-type":"work-list","message-version":"1.0.0","message":{"facets":{},"total-results":4711,"items":[`)
	for i := range pageItems {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(bytes.ReplaceAll(richItem(i), []byte("/"), []byte(`\/`)))
	}
	b.WriteString(`],"items-per-page":100,"query":{"start-index":0,"search-terms":null},"next-cursor":"AoJ+opaque"}}`)
	return b.Bytes()
}

func richItem(i int) []byte {
	var b bytes.Buffer
	stamp := fmt.Sprintf(`{"date-parts":[[2025,3,%d]],"date-time":"2025-03-%02dT10:%02d:00Z","timestamp":1741082%06d}`, 1+i%28, 1+i%28, i%60, i)
	fmt.Fprintf(&b, `{"indexed":%s,"reference-count":%d,"publisher":"Society of Measured Things","issue":"%d","license":[{"start":%s,`+
		`"content-version":"vor","delay-in-days":0,"URL":"https://creativecommons.org/licenses/by/4.0/"}],"funder":[{"DOI":"10.13039/%d",`+
		`"name":"Fund for Slow Science","award":["A-%d"]}],`, stamp, i%80, i%12, stamp, 100000+i, i)
	fmt.Fprintf(&b, `"content-domain":{"domain":["measured.example"],"crossmark-restriction":true},"short-container-title":["Meas. Th."],`+
		`"abstract":"<jats:title>Abstract</jats:title><jats:p>%s</jats:p>","DOI":"10.5555/Measured.%d","type":"journal-article","created":%s,`+
		`"page":"%d-%d","source":"Crossref","is-referenced-by-count":%d,"title":["A measured thing, number %d"],"prefix":"10.5555","volume":"%d","author":[`,
		strings.Repeat("It was measured more than once, and the larger value is given. ", 16), i, stamp, i, i+11, 3*i, i, i%30)
	for n := range 5 {
		fmt.Fprintf(&b, `%s{"ORCID":"https://orcid.org/0000-0002-%04d-%04d","given":"Zoë %d","family":"Núñez","sequence":"additional","affiliation":[{"name":"Dept. %d"}]}`,
			comma(n), i, n, n, n)
	}
	fmt.Fprintf(&b, `],"member":"311","published-online":%s,"reference":[`, stamp)
	for n := range 12 {
		fmt.Fprintf(&b, `%s{"key":"10.5555/Measured.%d-Bib%d","doi-asserted-by":"publisher","DOI":"10.5555/cited.%d","volume":"%d","author":"Cited A.","year":"20%02d"}`,
			comma(n), i, n, n*i, n, n)
	}
	fmt.Fprintf(&b, `],"container-title":["Journal of Measured Things"],"link":[{"URL":"https://measured.example/%d.pdf","content-type":"application/pdf",`+
		`"intended-application":"similarity-checking"}],"language":"en","deposited":%s,"score":0.0,"resource":{"primary":{"URL":"https://measured.example/%d"}},`+
		`"issued":{"date-parts":[[2025,3]]},"references-count":%d,"journal-issue":{"issue":"%d"},"URL":"https://doi.org/10.5555/measured.%d","ISSN":["1234-5679","2345-6780"]}`,
		i, stamp, i, i%80, i%12, i)
	return b.Bytes()
}

func comma(n int) string {
	if n == 0 {
		return ""
	}
	return ","
}

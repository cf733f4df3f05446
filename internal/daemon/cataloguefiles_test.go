package daemon

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/md5"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// byDay cuts works by the day of their change.
func (s *madeUpstream) byDay() (days []string, works map[string][]work) {
	works = map[string][]work{}
	for _, w := range s.works {
		day := w.at.Format(time.DateOnly)
		if works[day] = append(works[day], w); !slices.Contains(days, day) {
			days = append(days, day)
		}
	}
	return days, works
}

func lines(all []work, item func(work) string) string {
	return strings.ReplaceAll(list(all, func(w work) string { return item(w) + "\n" }), "\n,", "\n")
}

// zipped packs files, each named before its text.
func zipped(files ...string) string {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			panic(err) // memory takes everything
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return out.String()
}

// fileShapes are the bundled sources whose records lie in files that a listing names.
func fileShapes() []shape {
	every := []string{"files.every=PT1H"}
	return []shape{
		{"pubmedfiles", "articles", numbered("%d"), every, answerPubMedFiles},
		{"openalexfiles", "works", numbered("https://openalex.org/W%d"), every, func(s *madeUpstream, r *http.Request) string {
			days, works := s.byDay()
			if r.URL.Path == "/data/jsonl/manifest.json" {
				out := `{"url":"s3://openalex/data/jsonl/works/updated_date=%[1]s/part_0000.gz","meta":{"content_length":%[2]d,"record_count":%[3]d}}`
				var files []string
				for _, day := range days {
					files = append(files, fmt.Sprintf(out, day, len(gzipped(lines(works[day], openAlexLine))), len(works[day])))
				}
				return fmt.Sprintf(`{"date":"2025-03-06","format":"jsonl","entities":[{"entity_type":"authors","files":[{"url":"s3://openalex/data/jsonl/authors/updated_date=2025-03-03/part_0000.gz","meta":{"content_length":9,"record_count":1}}]},{"entity_type":"works","files":[%s]}]}`, strings.Join(files, ","))
			}
			day := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/data/jsonl/works/updated_date="), "/part_0000.gz")
			return string(gzipped(lines(works[day], openAlexLine)))
		}},
		{"unpaywallfeed", "changes", numbered("10.5555/made.%d"), every, func(s *madeUpstream, r *http.Request) string {
			line := func(w work) string {
				return fmt.Sprintf(`{"doi":%q,"title":"Work","is_oa":true,"oa_status":"gold","updated":%q}`, strings.ToUpper(w.id), w.at.Format("2006-01-02T15:04:05.000000"))
			}
			days, works := s.byDay()
			if r.URL.Path == "/feed/changefiles" {
				if r.URL.Query().Get("interval") != "week" {
					return `{"error":"interval"}`
				}
				out := []string{`{"date":"2018-01-01","filename":"old.csv.gz","filetype":"csv","last_modified":"2018-01-01 00:00:00.000000","lines":1,"size":9,"url":"https://made.example/old.csv.gz"}`}
				for _, day := range days {
					name := "changed_dois_with_versions_" + day + "T080001.jsonl.gz"
					out = append(out, fmt.Sprintf(`{"date":%q,"filename":%q,"filetype":"jsonl","last_modified":"%s 15:37:16.984459","lines":%d,"size":%d,"url":"https://made.example/weekly-feed/changefile/%s?api_key=YOUR_API_KEY"}`,
						day, name, day, len(works[day]), len(gzipped(lines(works[day], line))), name))
				}
				return `{"list":[` + strings.Join(out, ",") + `]}`
			}
			day := strings.TrimPrefix(r.URL.Path, "/weekly-feed/changefile/changed_dois_with_versions_")
			return string(gzipped(lines(works[day[:10]], line)))
		}},
		{"rordump", "organizations", numbered("https://ror.org/0%d"), every, func(s *madeUpstream, r *http.Request) string {
			text := "[\n" + list(s.works, func(w work) string {
				return fmt.Sprintf(`{"id":%q,"names":[{"value":"Made"}],"status":"active","admin":{"last_modified":{"date":%q}}}`, w.id, w.at.Format(time.DateOnly))
			}) + "\n]\n"
			body := zipped("v2.1-2025-03-06-ror-data.csv", "id\n", "v2.1-2025-03-06-ror-data.json", text)
			if r.URL.Path != "/records/6347574" {
				return body
			}
			return fmt.Sprintf(`{"id":9,"files":[{"key":"v2.1-2025-03-06-ror-data.zip","size":%d,"checksum":"md5:%x","links":{"self":"http://%s/records/9/files/v2.1-2025-03-06-ror-data.zip/content"}}]}`, len(body), md5.Sum([]byte(body)), r.Host)
		}},
		{"orciddump", "records", numbered("0000-0001-0000-%04d"), every, func(s *madeUpstream, r *http.Request) string {
			var files []string
			for _, w := range s.works {
				files = append(files, "summaries/"+w.id[16:]+"/"+w.id+".xml", orcidSummary(w))
			}
			body := tarred(files...)
			if r.URL.Path != "/v2/articles/24204912" {
				return body
			}
			return fmt.Sprintf(`{"id":24204912,"title":"Made","files":[{"id":1,"name":"ORCID_2023_10_summaries.tar.gz","size":%d,"download_url":"http://%s/files/1","computed_md5":"%x"},{"id":2,"name":"ORCID_2023_10_activities_0.tar.gz","size":9,"download_url":"http://%[2]s/files/2","computed_md5":"0"}]}`,
				len(body), r.Host, md5.Sum([]byte(body)))
		}},
		{"s2datasets", "papers", numbered("%d"), every, func(s *madeUpstream, r *http.Request) string {
			half := len(s.works) / 2
			parts := map[string][]work{"a.gz": s.works[:half], "b.gz": s.works[half:]}
			if r.URL.Path == "/release/latest/dataset/papers" {
				at := "http://" + r.Host + "/staging/2025-03-06/papers/"
				return fmt.Sprintf(`{"name":"papers","description":"Core paper metadata","README":"made","files":["%[1]sa.gz?X-Amz-Signature=1","%[1]sb.gz?X-Amz-Signature=2"]}`, at)
			}
			return string(gzipped(lines(parts[strings.TrimPrefix(r.URL.Path, "/staging/2025-03-06/papers/")], func(w work) string {
				return fmt.Sprintf(`{"corpusid":%s,"externalids":{"DOI":"10.5555/%s"},"title":"Work","year":2025,"updated":%q}`, w.id, w.id, w.at.Format(time.RFC3339))
			})))
		}},
	}
}

// orcidSummary is a record as a document of its own.
func orcidSummary(w work) string {
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<record:record path="/%[1]s" xmlns:record="http://www.orcid.org/ns/record" xmlns:common="http://www.orcid.org/ns/common" xmlns:history="http://www.orcid.org/ns/history" xmlns:person="http://www.orcid.org/ns/person" xmlns:details="http://www.orcid.org/ns/personal-details">
  <common:orcid-identifier><common:uri>https://orcid.org/%[1]s</common:uri><common:path>%[1]s</common:path><common:host>orcid.org</common:host></common:orcid-identifier>
  <history:history><history:claimed>true</history:claimed><common:last-modified-date>%[2]s</common:last-modified-date></history:history>
  <person:person><person:name><details:given-names>Made</details:given-names><details:family-name>Person</details:family-name></person:name></person:person>
</record:record>
`, w.id, w.at.Format("2006-01-02T15:04:05.000Z"))
}

// tarred packs files, each named before its text, into an archive that is packed as a whole.
func tarred(files ...string) string {
	var out bytes.Buffer
	z := tar.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		err := z.WriteHeader(&tar.Header{Name: files[i], Mode: 0o600, Size: int64(len(files[i+1]))})
		if err == nil {
			_, err = z.Write([]byte(files[i+1]))
		}
		if err != nil {
			panic(err) // memory takes everything
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return string(gzipped(out.String()))
}

func openAlexLine(w work) string {
	return fmt.Sprintf(`{"id":%q,"title":"Work","type":"article","updated_date":%q}`, w.id, w.at.Format("2006-01-02T15:04:05.000000"))
}

// answerPubMedFiles has a baseline of the first half of the works, and an update file with the rest that also deletes an article
// nobody knows.
func answerPubMedFiles(s *madeUpstream, r *http.Request) string {
	half := len(s.works) / 2
	set := func(all []work, behind string) string {
		var text strings.Builder
		text.WriteString("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!DOCTYPE PubmedArticleSet SYSTEM \"pubmed.dtd\">\n<PubmedArticleSet>\n")
		for _, w := range all {
			fmt.Fprintf(&text, `<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">%s</PMID><DateRevised><Year>%d</Year><Month>%02d</Month><Day>%02d</Day></DateRevised><Article><ArticleTitle>Work</ArticleTitle></Article></MedlineCitation></PubmedArticle>`+"\n",
				w.id, w.at.Year(), w.at.Month(), w.at.Day())
		}
		return string(gzipped(text.String() + behind + "</PubmedArticleSet>\n"))
	}
	folders := map[string]map[string]string{
		"baseline":    {"pubmed25n0001.xml.gz": set(s.works[:half], "")},
		"updatefiles": {"pubmed25n0002.xml.gz": set(s.works[half:], "<DeleteCitation>\n<PMID Version=\"1\">999999</PMID>\n</DeleteCitation>\n")},
	}
	folder, name, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"), "pubmed/"), "/")
	if name == "" {
		page := fmt.Sprintf("<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 3.2 Final//EN\">\n<html>\n<head>\n<title>Index of /pubmed/%[1]s</title>\n</head>\n<body>\n<h1>Index of /pubmed/%[1]s</h1>\n<pre>Name                     Last modified      Size  <hr><a href=\"/pubmed/\">Parent Directory</a>                              -   \n<a href=\"README.txt\">README.txt</a>               2025-01-10 14:00  5.6K  \n", folder)
		for name := range folders[folder] {
			page += fmt.Sprintf("<a href=%q>%s</a>     2025-03-06 14:04   19M  \n<a href=%q>%s</a> 2025-03-06 14:04   60   \n", name, name, name+".md5", name+".md5")
		}
		return page + "<hr></pre>\n</body></html>\n"
	}
	if of, isSum := strings.CutSuffix(name, ".md5"); isSum {
		return fmt.Sprintf("MD5(%s)= %x\n", of, md5.Sum([]byte(folders[folder][of])))
	}
	return folders[folder][name]
}

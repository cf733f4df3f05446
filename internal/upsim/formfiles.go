package upsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	filesPath = "/forms/files"
	filesGzip = "/forms/files-gzip" // the same, packed
	// A file has the works of so many seconds, by their stamps.
	fileSpan = 6 * 60 * 60
	// publishEvery is how long files stay as they are, whatever happens to the works.
	publishEvery = 30 * time.Second
	// lineWidth: all lines are as long, so half of one file fits to half of another one.
	lineWidth = 256
)

// publishedFile is a file as it lies there.
type publishedFile struct {
	name    string
	lines   [][]byte
	changed time.Time // when its works were others last
	tag     string
}

// readFile reports false for what is neither a listing of files nor a file.
func (s *Server) readFile(r *http.Request, req *request) bool {
	for _, path := range []string{filesGzip, filesPath} {
		if rest, ok := strings.CutPrefix(r.URL.Path, path); ok && (rest == "" || rest[0] == '/') {
			req.file = &fileRequest{name: strings.TrimPrefix(rest, "/"), packed: path == filesGzip, path: path, span: r.Header.Get("Range"), same: r.Header.Get("If-Range")}
			return true
		}
	}
	return false
}

// fileRequest is a request for a file; for the listing if it has no name.
type fileRequest struct {
	name, path string
	packed     bool
	span, same string // the headers Range and If-Range
}

func (s *Server) answerFile(req request) answer {
	files, lies := s.publish(time.Now()), s.currentLies()
	if req.file.name == "" {
		return listFiles(files, lies, req.file.path)
	}
	at := slices.IndexFunc(files, func(f publishedFile) bool { return f.name == req.file.name })
	if at < 0 || req.file.name == lies.LostFile {
		return answerText(http.StatusNotFound, "Resource not found.")
	}
	f := files[at]
	begin, isPart := beginOf(req.file.span)
	lines, tag := f.lines, f.tag
	switch {
	case lies.MixedFiles && isPart: // another order of the same works, and If-Range is not understood
		lines, tag = slices.Clone(lines), tag+"r"
		slices.Reverse(lines)
	case req.file.same != quoteTag(tag):
		isPart = false
	}
	if lies.CutFiles && len(lines) > 1 {
		lines = lines[:len(lines)-1]
	}
	body := bytes.Join(lines, nil)
	if req.file.packed {
		body = bytes.Clone(s.compressBody(body).Bytes())
	}
	out := answer{status: http.StatusOK, kind: "application/octet-stream", body: body, extra: http.Header{"Etag": {quoteTag(tag)}}}
	switch {
	case !isPart:
	case begin >= len(body):
		return answerText(http.StatusRequestedRangeNotSatisfiable, "No such range.")
	default:
		out.status, out.body = http.StatusPartialContent, body[begin:]
		out.extra.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", begin, len(body)-1, len(body)))
	}
	return out
}

func quoteTag(tag string) string { return strconv.Quote(tag) }

// beginOf reads where a range begins that has no end.
func beginOf(span string) (int, bool) {
	text, ok := strings.CutPrefix(span, "bytes=")
	begin, err := strconv.Atoi(strings.TrimSuffix(text, "-"))
	return begin, ok && err == nil
}

func listFiles(files []publishedFile, lies Lies, path string) answer {
	type listed struct {
		Name  string `json:"name"`
		URL   string `json:"url"`
		Lines int    `json:"lines"`
		Date  string `json:"date"`
	}
	out := []listed{}
	for _, f := range files {
		if f.name != lies.ForgottenFile {
			out = append(out, listed{f.name, path + "/" + f.name, len(f.lines), f.changed.UTC().Format(time.RFC3339Nano)})
		}
	}
	body, err := json.Marshal(map[string]any{"files": out})
	if err != nil {
		panic(err) // plain texts and numbers always encode
	}
	return answer{status: http.StatusOK, kind: typeJSON, body: body}
}

// publish returns the files, which are made anew from the works from time to time.
func (s *Server) publish(now time.Time) []publishedFile {
	s.forms.mu.Lock()
	defer s.forms.mu.Unlock()
	if !s.forms.published.IsZero() && now.Sub(s.forms.published) < publishEvery {
		return s.forms.files
	}
	before := map[string]publishedFile{}
	for _, f := range s.forms.files {
		before[f.name] = f
	}
	s.forms.files, s.forms.published = s.makeFiles(s.forms.lies), now
	for i, f := range s.forms.files {
		s.forms.files[i].changed = now
		if old, ok := before[f.name]; ok && old.tag == f.tag {
			s.forms.files[i].changed = old.changed
		}
	}
	return s.forms.files
}

// makeFiles writes the works into files.
func (s *Server) makeFiles(lies Lies) (out []publishedFile) {
	for it := range s.data.allItems() {
		name := time.Unix(it.indexed/fileSpan*fileSpan, 0).UTC().Format("20060102-15") + ".jsonl"
		if len(out) == 0 || out[len(out)-1].name != name {
			out = append(out, publishedFile{name: name})
		}
		line, err := json.Marshal(s.data.formItem(it, s.data.defectOf(it.seq), lies))
		if err != nil {
			panic(err) // plain texts and numbers always encode
		}
		last := &out[len(out)-1]
		last.lines = append(last.lines, fmt.Appendf(nil, "%-*s\n", lineWidth-1, line))
	}
	for i := range out {
		sum := fnv.New64a()
		for _, line := range out[i].lines {
			_, _ = sum.Write(line) // it takes everything
		}
		out[i].tag = fmt.Sprintf("%x", sum.Sum64())
	}
	return out
}

// FileNames lists the files that lie there now.
func (s *Server) FileNames() (names []string) {
	for _, f := range s.publish(time.Now()) {
		names = append(names, f.name)
	}
	return names
}

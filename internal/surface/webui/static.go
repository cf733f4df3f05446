package webui

import (
	"embed"
	"net/http"
	"path"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

//go:embed static
var staticFiles embed.FS

// files are the stylesheet, the module and the icon, by name. Their address has a part of
// the hash of their content, so that browsers may keep them for ever.
type files struct {
	byAddress map[string]staticFile // such as style.1a2b3c4d.css
	address   map[string]string     // by name
}

type staticFile struct {
	kind string
	body []byte
}

var kinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func hashFiles() files {
	f := files{map[string]staticFile{}, map[string]string{}}
	all, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err)
	}
	for _, entry := range all {
		body, err := staticFiles.ReadFile("static/" + entry.Name())
		if err != nil {
			panic(err)
		}
		ext := path.Ext(entry.Name())
		hashed := strings.TrimSuffix(entry.Name(), ext) + "." + fingerprint.Bytes(body)[:12] + ext
		f.byAddress[hashed], f.address[entry.Name()] = staticFile{kinds[ext], body}, hashed
	}
	return f
}

// addressOf returns where a file is served.
func (f files) addressOf(name string) string { return "/static/" + f.address[name] }

func (f files) serve(w http.ResponseWriter, r *http.Request) {
	file, known := f.byAddress[r.PathValue("file")]
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", file.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(file.body)
}

// serveIcon answers browsers that ask for an icon at its old address.
func (f files) serveIcon(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, f.addressOf("icon.svg"), http.StatusMovedPermanently)
}

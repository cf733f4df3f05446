package webui

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
)

// hostileSources is a source whose file, history and problems are an attack.
type hostileSources struct{ hostile }

func (h hostileSources) List(context.Context) ([]view.Source, error) {
	return []view.Source{{Code: "src", Name: h.text, Origin: h.text, Endpoints: []string{h.text}}}, h.err
}

func (h hostileSources) Versions(context.Context, string) ([]view.SourceVersion, error) {
	return []view.SourceVersion{{Actor: h.text, Reason: h.text, Paths: []string{h.text}, From: noon}}, h.err
}

func (h hostileSources) FileAt(context.Context, string, *time.Time) (view.SourceFile, error) {
	return view.SourceFile{Source: "src", YAML: "name: " + h.text + "</textarea><script>alert(2)</script>\n", Fingerprint: h.text}, h.err
}

func (h hostileSources) file() view.CheckedFile {
	return view.CheckedFile{Source: "src", Problems: []view.FileProblem{{Line: 1, Path: h.text, Message: h.text, Hint: h.text}}, Warnings: []view.FileWarning{{Endpoint: h.text}}}
}

func (h hostileSources) Check(context.Context, string, []byte) (view.CheckedFile, error) {
	return h.file(), h.err
}

func (h hostileSources) Diff(context.Context, string, []byte) (view.CheckedFile, view.SourceDifference, error) {
	return view.CheckedFile{Source: "src"}, view.SourceDifference{Against: h.text, Changes: []registry.Change{{Path: h.text, Old: h.text, New: h.text}}}, h.err
}

func (h hostileSources) Apply(context.Context, []byte, view.ApplyWish, ingest.Act) (view.CheckedFile, view.SourceApplied, error) {
	return view.CheckedFile{Source: "src"}, view.SourceApplied{}, h.err
}

func (h hostileSources) Render(context.Context, string, []byte, view.AskWish) (view.CheckedFile, view.RenderedRequest, error) {
	return view.CheckedFile{Source: "src"}, view.RenderedRequest{Endpoint: h.text, Method: h.text, URL: h.text, Headers: map[string]string{h.text: h.text}, Body: h.text, Expression: h.text}, h.err
}

func (h hostileSources) Try(context.Context, string, []byte, view.AskWish, ingest.Act) (view.CheckedFile, *view.TriedPage, error) {
	return view.CheckedFile{Source: "src"}, &view.TriedPage{Endpoint: h.text, Request: exchange.RequestDigest{URL: h.text}, Response: &exchange.ResponseDigest{Sample: h.text},
		Records: []view.TriedRecord{{ID: h.text, Fields: h.text}}, Rejects: []string{h.text}, Trouble: h.text}, h.err
}

// TestA27SourceFilesStayText puts an attack into the file of a source, its history, its
// problems and what its upstream answers: it is text on every page of the editor.
func TestA27SourceFilesStayText(t *testing.T) {
	evil := "<script>alert(1)</script>\u202egnp.exe\u200b" + `" onload="x`
	sources := hostileSources{hostile{text: evil}}
	by := access.Caller{Name: "n", Role: access.Admin}
	h := New(Settings{CallerOf: func(context.Context) access.Caller { return by }, Clock: quiet{}, Work: Work{Sources: sources, SourceFiles: sources}, Readers: Readers{Status: quiet{}}})
	form := url.Values{"text": {evil + "</textarea>"}, "match": {evil}, "endpoint": {evil}, "ids": {evil}, "reason": {evil}}
	bodies := map[string]string{"list": fetch(h, "GET", "/sources", nil).Body.String(), "file": fetch(h, "GET", "/sources/src", nil).Body.String()}
	for do, path := range map[string]string{"check": "check", "diff": "check", "render": "check", "test": "test", "preview": "apply"} {
		form.Set("do", do)
		bodies[do] = fetch(h, "POST", "/sources/src/"+path, form).Body.String()
	}
	for name, body := range bodies {
		for _, bad := range []string{"<script>alert", "\u202e", "\u200b", `" onload=`, "</textarea><"} {
			if strings.Contains(strings.ReplaceAll(body, "</textarea></div>", ""), bad) {
				t.Errorf("%s has %q", name, bad)
			}
		}
		if !strings.Contains(body, "gnp.exe") {
			t.Errorf("%s shows nothing of it:\n%s", name, body)
		}
	}
}

// TestR12TheEditorTellsNothingOfInnerErrors breaks the store below the editor.
func TestR12TheEditorTellsNothingOfInnerErrors(t *testing.T) {
	sources := hostileSources{hostile{text: "x", err: errors.New("SELECT secret FROM /var/lib/x")}}
	by := access.Caller{Name: "n", Role: access.Admin}
	h := New(Settings{CallerOf: func(context.Context) access.Caller { return by }, Clock: quiet{}, Work: Work{Sources: sources, SourceFiles: sources}, Readers: Readers{Status: quiet{}}})
	for _, path := range []string{"/sources", "/sources/src"} {
		w := fetch(h, "GET", path, nil)
		if body := w.Body.String(); w.Code != http.StatusInternalServerError || strings.Contains(body, "SELECT") || strings.Contains(body, "/var/lib") {
			t.Errorf("%s: %d\n%s", path, w.Code, body)
		}
	}
}

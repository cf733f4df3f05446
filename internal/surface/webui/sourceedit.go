package webui

import (
	"context"
	"errors"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/visible"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// editorPage is the file of a source, what is wrong with it, and what it would do.
type editorPage struct {
	Source   string
	Origin   string
	New      bool       // it does not exist yet
	At       *time.Time // of an old version whose text this is
	Match    string     // names the version that the text was made from
	Text     string
	Lines    []editorLine
	Checked  *view.CheckedFile
	Diff     *view.SourceDifference
	Rendered *view.RenderedRequest
	Tried    *view.TriedPage
	Preview  *view.SourceApplied
	Applied  *view.SourceApplied
	Mark     string // of the preview
	Reason   string
	Trouble  string
	Wish     map[string]string // fields of the forms as they were typed
	Versions part[[]view.SourceVersion]
	Operator bool
	Admin    bool
}

// editorLine is a line of the file, with what is wrong there.
type editorLine struct {
	No  int
	Bad string
}

// textName is what a text of the editor is called in what is said of it.
const textName = "source.yaml"

// wishFields are the fields that a form gives back as they were typed.
var wishFields = []string{"endpoint", "operation", "from", "to", "ids", "begin", "cancelScheduled"}

// readEditor reads the source that a path names, with its file and its versions.
func (s *site) readEditor(a *ask) (*editorPage, error) {
	code, err := a.source()
	if err != nil {
		return nil, err
	}
	file, err := s.Work.Sources.FileAt(a.Context(), code, nil)
	begun := errors.Is(err, fault.ErrNotFound) && a.FormValue("new") != "" && a.Caller.May(access.Admin)
	if begun {
		file, err = view.SourceFile{YAML: registry.SkeletonFor(code, textName)}, nil
	}
	if err != nil {
		return nil, err
	}
	p := &editorPage{Source: code, New: begun, Origin: file.Origin, Match: file.Fingerprint, Text: file.YAML, Wish: map[string]string{}, Operator: a.Caller.May(access.Operator), Admin: a.Caller.May(access.Admin)}
	for _, name := range wishFields {
		p.Wish[name] = strings.TrimSpace(a.FormValue(name))
	}
	if begun {
		return p, nil
	}
	p.Versions = load(a, "the versions of the source", func(ctx context.Context) ([]view.SourceVersion, error) {
		return s.Work.Sources.Versions(ctx, code)
	})
	return p, nil
}

// readText puts the text that was sent in the place of the one in force.
func (p *editorPage) readText(a *ask) {
	p.Text = strings.ReplaceAll(a.PostFormValue("text"), "\r\n", "\n") // as forms send lines
	p.Match = a.PostFormValue("match")
	p.Reason = a.reason()
}

// showSource shows the file of a source as it is in force, or that of an old version, which
// becomes the next one if it is applied.
func (s *site) showSource(a *ask) (page, error) {
	p, err := s.readEditor(a)
	if err != nil {
		return page{}, err
	}
	at, given, err := a.instant("at")
	if err != nil {
		return page{}, err
	}
	title := fmt.Sprintf("%s is as it comes with the program", p.Source)
	if p.Origin == view.OriginApplied {
		title = fmt.Sprintf("%s is as it was applied here", p.Source)
	}
	if p.New {
		return p.page(fmt.Sprintf("%s does not exist yet: this is a file to start from", p.Source), http.StatusOK), nil
	}
	if given {
		old, err := s.Work.Sources.FileAt(a.Context(), p.Source, &at)
		if err != nil {
			return page{}, err
		}
		p.At, p.Text = &at, old.YAML
		title = fmt.Sprintf("%s as it was at %s", p.Source, wording.SecondText(at))
	}
	return p.page(title, http.StatusOK), nil
}

// checkSource says what is wrong with a text, what it would change, or what it would ask.
func (s *site) checkSource(a *ask) (page, error) {
	p, err := s.readEditor(a)
	if err != nil {
		return page{}, err
	}
	p.readText(a)
	files, text := s.Work.SourceFiles, []byte(p.Text)
	var f view.CheckedFile
	title := fmt.Sprintf("Nothing is wrong with the file of %s", p.Source)
	switch a.PostFormValue("do") {
	case "diff":
		var d view.SourceDifference
		if f, d, err = files.Diff(a.Context(), textName, text); err == nil && f.Source == p.Source && len(f.Problems) == 0 {
			p.Diff, title = &d, fmt.Sprintf("It would change %s of %s", countText(len(d.Changes), "value"), p.Source)
		}
	case "render":
		var wish view.AskWish
		if wish, err = p.askWish(a); err != nil {
			break
		}
		var r view.RenderedRequest
		if f, r, err = files.Render(a.Context(), textName, text, wish); err == nil && len(f.Problems) == 0 {
			p.Rendered, title = &r, "This would be asked; nothing was sent"
		}
	default:
		f, err = files.Check(a.Context(), textName, text)
	}
	return p.judged(a, f, title, err)
}

// testSource asks the upstream for one page, as a text says. It sends a request to an
// address that somebody typed, so it is for admins alone (R5).
func (s *site) testSource(a *ask) (page, error) {
	p, err := s.readEditor(a)
	if err != nil {
		return page{}, err
	}
	p.readText(a)
	var f view.CheckedFile
	wish, err := p.askWish(a)
	if err == nil {
		f, p.Tried, err = s.Work.SourceFiles.Try(a.Context(), textName, []byte(p.Text), wish, a.readBy())
	}
	title := "The upstream was asked for one page; nothing is stored"
	if p.Tried != nil && p.Tried.Trouble != "" {
		title = "The upstream was asked, and a run could not use its answer"
	}
	return p.judged(a, f, title, err)
}

// askWish reads which request is looked at.
func (p *editorPage) askWish(a *ask) (w view.AskWish, err error) {
	w.Code, w.Endpoint, w.Operation = p.Source, p.Wish["endpoint"], p.Wish["operation"]
	w.IDs = strings.FieldsFunc(p.Wish["ids"], func(r rune) bool { return r == ',' || r == ' ' })
	for name, into := range map[string]**time.Time{"from": &w.From, "to": &w.To} {
		at, given, err := a.instant(name)
		if err != nil {
			return w, err
		}
		if given {
			*into = &at
		}
	}
	return w, nil
}

// applied is what applying a text comes to.
type applied struct {
	file view.CheckedFile
	done view.SourceApplied
	diff view.SourceDifference
}

// applySource shows what applying a text would do, and does it if it is posted with a reason
// and with the mark of what was shown.
func (s *site) applySource(a *ask) (page, error) {
	p, err := s.readEditor(a)
	if err != nil {
		return page{}, err
	}
	current := p.Match
	p.readText(a)
	begin, _, err := a.instant("begin")
	if err != nil {
		return p.judged(a, view.CheckedFile{}, "", err)
	}
	wish := view.ApplyWish{Name: textName, Code: p.Source, Expected: p.Match, From: begin, CancelScheduled: p.Wish["cancelScheduled"] != ""}
	done, err := actOrPreview(a, a.PostFormValue("do") == "apply", func(ctx context.Context, by ingest.Act) (out applied, err error) {
		if out.file, out.diff, err = s.Work.SourceFiles.Diff(ctx, textName, []byte(p.Text)); err != nil || len(out.file.Problems) > 0 {
			return out, err
		}
		out.file, out.done, err = s.Work.SourceFiles.Apply(ctx, []byte(p.Text), wish, by)
		return out, err
	}, func(t applied) any {
		return []any{fingerprint.Bytes([]byte(p.Text)), p.Match, wish.From, wish.CancelScheduled, t.done.Rows, t.done.Superseded, t.done.Until, t.diff.Changes}
	})
	if changed := new(registry.ChangedError); errors.As(err, &changed) {
		// What it would change is shown against what is in force now: whoever applies it after
		// that knows what is taken back.
		p.Match, p.Trouble = current, "Nothing was done: "+changed.Error()+". Your text is kept; this is what it would change now."
		if f, d, err := s.Work.SourceFiles.Diff(a.Context(), textName, []byte(p.Text)); err == nil && len(f.Problems) == 0 {
			p.Diff = &d
		}
		return p.page(fmt.Sprintf("%s was changed meanwhile", p.Source), http.StatusConflict), nil
	}
	if err != nil || len(done.Preview.file.Problems) > 0 {
		return p.judged(a, done.Preview.file, "", err)
	}
	if done.Done {
		return s.tellApplied(a, done.Result)
	}
	p.Diff, p.Preview, p.Mark, p.Trouble, p.Checked = &done.Preview.diff, &done.Preview.done, done.Mark, done.Trouble, &done.Preview.file
	title := fmt.Sprintf("Apply this? It changes %s of %s", countText(len(p.Diff.Changes), "value"), p.Source)
	if p.Preview.Outcome == view.Unchanged {
		title = fmt.Sprintf("%s says this already", p.Source)
	}
	return p.page(title, done.statusOf()), nil
}

// tellApplied shows the source after a text was applied.
func (s *site) tellApplied(a *ask, done applied) (page, error) {
	p, err := s.readEditor(a)
	if err != nil {
		return page{}, err
	}
	p.Wish, p.Applied, p.Diff = map[string]string{}, &done.done, &done.diff
	switch done.done.Outcome {
	case view.Unchanged:
		return p.page(fmt.Sprintf("%s said this already", p.Source), http.StatusOK), nil
	case view.Scheduled:
		return p.page(fmt.Sprintf("%s changes at %s", p.Source, wording.SecondText(done.done.From)), http.StatusOK), nil
	}
	return p.page(fmt.Sprintf("%s is as you wrote it", p.Source), http.StatusOK), nil
}

// judged is the page of a text that was looked at. What is wrong with it stands on its lines;
// what is wrong with the question stands above them.
func (p *editorPage) judged(a *ask, f view.CheckedFile, title string, err error) (page, error) {
	status := http.StatusOK
	var stopped *trust.Stopped
	var refused *trust.Refusal
	switch {
	case errors.As(err, &stopped), errors.As(err, &refused):
		p.Trouble, title, status = "Nothing was sent: "+err.Error(), "This needs consent first", http.StatusForbidden
	case errors.Is(err, fault.ErrInvalid), errors.Is(err, fault.ErrConflict):
		p.Trouble, title, status = err.Error(), "This cannot be asked so", http.StatusUnprocessableEntity
	case err != nil:
		return page{}, err
	case len(f.Problems) == 0 && f.Source != p.Source:
		f.Problems = append(f.Problems, view.FileProblem{Line: 1, Path: "source", Message: fmt.Sprintf("this is the file of %s", p.Source), Hint: "leave its code as it is"})
	}
	if n := len(f.Problems); n > 0 {
		p.Rendered, p.Tried, p.Diff = nil, nil, nil
		title = fmt.Sprintf("%s in the file of %s", countText(n, "problem"), p.Source)
		if a.PostFormValue("do") != "check" { // whoever asks what is wrong gets an answer
			status = http.StatusUnprocessableEntity
		}
	}
	if err == nil {
		p.Checked = &f
	}
	return p.page(title, status), nil
}

// page draws the editor.
func (p *editorPage) page(title string, status int) page {
	bad := map[int]string{}
	if p.Checked != nil {
		for _, one := range p.Checked.Problems {
			bad[one.Line] = strings.TrimPrefix(bad[one.Line]+"; "+one.Message, "; ")
		}
	}
	for no := range strings.Count(p.Text, "\n") + 1 {
		p.Lines = append(p.Lines, editorLine{no + 1, bad[no+1]})
	}
	return page{Template: "source", Title: title, Status: status, Crumbs: []crumb{{"Sources", "/sources"}, {Name: p.Source}}, Body: p}
}

// Area is the text for the field it is changed in. Hidden characters stand there as
// references, so that they come back as they were.
func (p *editorPage) Area() template.HTML {
	var b strings.Builder
	for _, r := range p.Text {
		if r != '\n' && r != '\t' && visible.IsHidden(r) {
			fmt.Fprintf(&b, "&#x%x;", r)
			continue
		}
		b.WriteString(html.EscapeString(string(r)))
	}
	return template.HTML(b.String())
}

// VersionAt is the address of the file as a version says it.
func (p *editorPage) VersionAt(v view.SourceVersion) string {
	return local("/sources/"+p.Source, "at", window.Text(v.From))
}

// Asks is a request as it would be sent.
func (p *editorPage) Asks() string {
	r := p.Rendered
	return requestText(exchange.RequestDigest{Method: r.Method, URL: r.URL, Headers: r.Headers, Body: r.Body})
}

// answerText is the head of an answer, and how its body begins where that could not be read.
func answerText(t *view.TriedPage) string {
	r := t.Response
	if r == nil {
		return "no answer came"
	}
	lines := append([]string{fmt.Sprintf("HTTP %d, %d bytes in %s", r.Status, r.Bytes, millisText(r.TookMS))}, headerLines(r.Headers)...)
	if t.Paging == "" && r.Sample != "" {
		lines = append(lines, "", r.Sample)
	}
	return strings.Join(lines, "\n")
}

package webui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Sources tells which sources there are, and what each said when.
type Sources interface {
	// List lists bundled and applied sources.
	List(ctx context.Context) ([]view.Source, error)
	// Versions lists what was applied when, newest first.
	Versions(ctx context.Context, code string) ([]view.SourceVersion, error)
	// FileAt is the file of a source as it is in force, or was at an instant.
	FileAt(ctx context.Context, code string, at *time.Time) (view.SourceFile, error)
}

// SourceFiles takes source files as texts. What is wrong with one is in the file that comes
// back, and then nothing else was done.
type SourceFiles interface {
	Check(ctx context.Context, name string, text []byte) (view.CheckedFile, error)
	Diff(ctx context.Context, name string, text []byte) (view.CheckedFile, view.SourceDifference, error)
	Apply(ctx context.Context, text []byte, w view.ApplyWish, by ingest.Act) (view.CheckedFile, view.SourceApplied, error)
	Render(ctx context.Context, name string, text []byte, w view.AskWish) (view.CheckedFile, view.RenderedRequest, error)
	Try(ctx context.Context, name string, text []byte, w view.AskWish, by ingest.Act) (view.CheckedFile, *view.TriedPage, error)
}

// listSources answers which sources there are.
func (s *site) listSources(a *ask) (page, error) {
	all, err := s.Work.Sources.List(a.Context())
	if err != nil {
		return page{}, err
	}
	all = keep(all, func(one view.Source) bool { return a.Caller.Sees(one.Code) })
	applied := keep(all, func(one view.Source) bool { return one.Origin == view.OriginApplied })
	return page{Template: "sources", Title: countText(len(all), "source") + ", " + countText(len(applied), "source") + " applied", Lead: "the others are as they come with the program", Body: all}, nil
}

// beginSource leads to the editor of a source, which need not exist yet.
func (s *site) beginSource(a *ask) (page, error) {
	code := strings.TrimSpace(a.FormValue("code"))
	if code == "" || strings.ContainsAny(code, "/?#%. ") {
		return page{}, fmt.Errorf("%w: code: expected the code of a source, such as our-library", fault.ErrInvalid)
	}
	return page{To: local("/sources/"+code, "new", "1")}, nil
}

// leaveAct leads whoever opens the address of an action to the file it is for.
func (s *site) leaveAct(a *ask) (page, error) {
	code, err := a.source()
	return page{To: "/sources/" + code}, err
}

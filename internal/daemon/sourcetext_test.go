package daemon

import (
	"errors"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
)

// R5 and R11: a text over the network is judged, rehearsed, and applied only over the
// version that it was made from.
func TestR5SourceTextsAreJudgedAndNeverOverwriteUnseen(t *testing.T) {
	app, _ := cached(t, 0)
	texts := app.NewSourceTexts(registry.Remote{})
	read := func() view.SourceFile {
		t.Helper()
		f, err := app.Inspect.SourceFile(t.Context(), "crossref", nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	bundled := read()
	changed := strings.Replace(bundled.YAML, "name: ", "name: My ", 1)
	wish := view.ApplyWish{Name: "posted", Code: "crossref", Expected: bundled.Fingerprint}
	by := ingest.Act{Actor: "token ann", Reason: "ours"}

	_, done, err := texts.Apply(t.Context(), []byte(changed), wish, ingest.Act{Actor: by.Actor, Rehearsal: true})
	if err != nil || done.Outcome != view.Pending || read().Origin != view.OriginBundled {
		t.Errorf("rehearsed: %v, %v, now %s", done, err, read().Origin)
	}
	if _, _, err := texts.Apply(t.Context(), []byte(changed), wish, ingest.Act{Actor: by.Actor}); !errors.Is(err, fault.ErrInvalid) || read().Origin != view.OriginBundled {
		t.Errorf("without a reason: %v", err)
	}
	if _, done, err = texts.Apply(t.Context(), []byte(changed), wish, by); err != nil || done.Outcome != view.Applied || read().Origin != view.OriginApplied {
		t.Errorf("applied: %v, %v, now %s", done, err, read().Origin)
	}
	if _, done, err = texts.Apply(t.Context(), []byte(changed), wish, by); err != nil || done.Outcome != view.Unchanged {
		t.Errorf("once more, as after an answer that got lost: %v, %v", done, err)
	}
	other, yours := wish, []byte(strings.Replace(changed, "name: My ", "name: Your ", 1))
	if _, _, err := texts.Apply(t.Context(), yours, other, by); !errors.Is(err, fault.ErrConflict) || !strings.Contains(err.Error(), "by token ann at ") {
		t.Errorf("over a version nobody read: %v", err)
	}
	stale := bundled.Fingerprint
	if _, err := app.ApplySource(t.Context(), mustDecode(t, yours), registry.ApplyOptions{Over: &stale}); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("when somebody was faster: %v", err)
	}
	other.Expected = ""
	if _, _, err := texts.Apply(t.Context(), yours, other, by); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("as if it were new: %v", err)
	}
	other.Expected, other.Code = read().Fingerprint, "pubmed"
	if _, _, err := texts.Apply(t.Context(), yours, other, by); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("under another code: %v", err)
	}

	other.Code, yours = "crossref", []byte(changed+"credentials:\n  a:\n    type: BEARER\n    value: exec:cat /etc/shadow\n")
	f, _, err := texts.Apply(t.Context(), yours, other, by)
	if err != nil || f.Parsed != nil || len(f.Problems) == 0 || f.Problems[0].Code != "E-REMOTE" || f.Problems[0].Line == 0 {
		t.Errorf("a command: %+v, %v", f.Problems, err)
	}
	if now := read(); strings.Contains(now.YAML, "exec:") || !strings.Contains(now.YAML, "name: My ") {
		t.Errorf("now it is\n%.300s", now.YAML)
	}
	if _, d, err := texts.Diff(t.Context(), "posted", []byte(strings.Replace(changed, "name: My ", "name: Her ", 1))); err != nil || len(d.Changes) != 1 || d.Changes[0].Path != "name" {
		t.Errorf("%+v, %v", d, err)
	}
}

func mustDecode(t *testing.T, text []byte) *registry.Source {
	t.Helper()
	src, _, err := registry.Decode("posted", text)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

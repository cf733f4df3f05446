package source

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/window"
)

// asking are the flags of commands that make one request.
type asking struct {
	subject.Selection
	term.WindowFlags
	ids       []string
	partition string
}

func (a *asking) flags(c *cobra.Command) {
	a.Selection.Flags(c)
	a.WindowFlags.Flags(c)
	c.Flags().StringSliceVar(&a.ids, "ids", nil, "ask a DETAIL endpoint for these ids, separated by commas")
	c.Flags().StringVar(&a.partition, "partition", "", "part of the list to ask for, such as set=cs (default the first one that partitions declares)")
}

// role of an endpoint that is asked by id.
const roleDetail = "DETAIL"

// compileAt compiles what is asked and says for which window; the zero window means by
// id.
func (a asking) compileAt(s subject.Subject, now time.Time) (subject.Selected, window.Window, error) {
	if len(a.ids) > 0 && a.Endpoint == "" {
		a.Endpoint = onlyDetail(s.Parsed)
	}
	to, err := a.Selection.Compile(s)
	if err != nil {
		return to, window.Window{}, err
	}
	if parent := to.Compiled.Snapshot.Parent; parent != nil && a.partition == "" {
		return to, window.Window{}, term.Usagef("the parts of the list are stored records of %s/%s: name one of them with --partition, such as --partition %s=ID", parent.Source, parent.Endpoint, to.Compiled.Snapshot.ParentEntry())
	}
	if a.partition != "" {
		only, err := to.Compiled.Snapshot.Only(a.partition)
		if err != nil {
			return to, window.Window{}, term.Usagef("--partition: %w", err)
		}
		narrowed := *to.Compiled
		narrowed.Snapshot, to.Compiled = only, &narrowed
	}
	name := to.Compiled.Snapshot.Endpoint
	byID := s.Parsed.Endpoints[name].Role == roleDetail
	switch {
	case byID && len(a.ids) == 0:
		return to, window.Window{}, term.Usagef("endpoint %s is asked by id: name some with --ids", name)
	case !byID && len(a.ids) > 0:
		return to, window.Window{}, term.Usagef("endpoint %s is asked for a window, not by id: leave --ids out, or name a DETAIL endpoint with --endpoint", name)
	case byID && a.Given():
		return to, window.Window{}, term.Usagef("endpoint %s is asked by id: leave the window out", name)
	case byID:
		return to, window.Window{}, nil
	}
	w, err := a.Choose(to.Compiled.Snapshot.UsualWindow(now), now)
	return to, w, err
}

// onlyDetail is the DETAIL endpoint of a source, if it has just one.
func onlyDetail(src *registry.Source) string {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(src.Endpoints)), func(name string) bool { return src.Endpoints[name].Role != roleDetail })
	if len(names) != 1 {
		return ""
	}
	return names[0]
}

// askedFor names what a request is for.
func askedFor(w window.Window, ids []string) string {
	if len(ids) > 0 {
		return "ids " + strings.Join(ids, ", ")
	}
	return w.String()
}

package cli

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/window"
)

// asking are the flags of commands that make one request.
type asking struct {
	aim
	period
	ids []string
}

func (a *asking) flags(c *cobra.Command) {
	a.aim.flags(c)
	a.period.flags(c)
	c.Flags().StringSliceVar(&a.ids, "ids", nil, "ask a DETAIL endpoint for these ids, separated by commas")
}

// role of an endpoint that is asked by id.
const roleDetail = "DETAIL"

// at compiles what is asked and says for which window; the zero window means by
// id.
func (a asking) at(s subject, now time.Time) (aimed, window.Window, error) {
	if len(a.ids) > 0 && a.endpoint == "" {
		a.endpoint = onlyDetail(s.src)
	}
	to, err := a.aim.at(s)
	if err != nil {
		return to, window.Window{}, err
	}
	name := to.compiled.Snapshot.Endpoint
	byID := s.src.Endpoints[name].Role == roleDetail
	switch {
	case byID && len(a.ids) == 0:
		return to, window.Window{}, usagef("endpoint %s is asked by id: name some with --ids", name)
	case !byID && len(a.ids) > 0:
		return to, window.Window{}, usagef("endpoint %s is asked for a window, not by id: leave --ids out, or name a DETAIL endpoint with --endpoint", name)
	case byID && a.given():
		return to, window.Window{}, usagef("endpoint %s is asked by id: leave the window out", name)
	case byID:
		return to, window.Window{}, nil
	}
	w, err := a.choose(usualWindow(to.compiled.Snapshot, now), now)
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

package inspect

import (
	"context"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/freshness"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Limits lists the thresholds of findings, which hold for all sources of an installation.
// File is where it declares them; empty: that is not told.
func Limits(declared threshold.Config, file string) (out []view.Setting) {
	for _, x := range declared.Explain() {
		s := view.Setting{Path: "findings." + x.Key, Value: x.Value, From: "platform", Origin: "platform"}
		if x.Declared {
			s.From, s.At, s.Origin = "installation", file, "installation"
			if file != "" {
				s.Origin += " (" + file + ")"
			}
		}
		out = append(out, s)
	}
	return out
}

// AddLimits adds the thresholds of the installation to the settings of a source, and those
// that the source could declare and does not, with what holds instead.
func AddLimits(all, installed []view.Setting) []view.Setting {
	for _, s := range installed {
		key := strings.TrimPrefix(s.Path, "findings.")
		own := "alerts." + key
		if freshness.MayDeclare(key) && !slices.ContainsFunc(all, func(o view.Setting) bool { return o.Path == own }) {
			s.Path = own
			all = append(all, s)
		}
	}
	return append(all, installed...)
}

// GapsOf lists the stretches of a source that are not done, with who is to read each. An
// endpoint that was never harvested, while others were, is left out unless a start is named.
func (i *Inspector) GapsOf(ctx context.Context, src *registry.Source, q RangeQuery) (out []view.Gap, err error) {
	covered, err := i.CoverageOf(ctx, src)
	if err != nil {
		return nil, err
	}
	for _, b := range covered.All {
		if q.Skips(b, covered.All) {
			continue
		}
		r, err := b.Range(q)
		if err != nil {
			return nil, err
		}
		gaps, err := i.MarkPlanned(ctx, b, b.Gaps(r.Window, q.OnlyAsked()))
		if err != nil {
			return nil, err
		}
		out = append(out, gaps...)
	}
	return out, nil
}

package registry

import (
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/outline"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func lossySources() []lossy {
	return []lossy{
		{"keep outlines", "keep the outline of a source", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				return nil, w.Store.KeepOutlines(w.Ctx, []outline.Kept{w.outlined(1, "program")})
			}
		}},
		{"apply source", "apply new source", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				_, err := w.Store.ApplySource(w.Ctx, w.Source(), registry.ApplyOptions{})
				return nil, err
			}
		}},
		{"apply source", "apply changed source", func(w *world) func() (answer, error) {
			w.Apply(w.Source())
			w.Clock.Advance(fixture.Day)
			return func() (answer, error) {
				_, err := w.Store.ApplySource(w.Ctx, w.Source("size: 500", "size: 200", "name: Tiny", "name: Small"), registry.ApplyOptions{})
				return nil, err
			}
		}},
		{"apply source", "apply source over the version it was made from", func(w *world) func() (answer, error) {
			w.Apply(w.Source())
			w.Clock.Advance(fixture.Day)
			over := w.Source().Fingerprint()
			return func() (answer, error) {
				_, err := w.Store.ApplySource(w.Ctx, w.Source("size: 500", "size: 200"), registry.ApplyOptions{Over: &over})
				return nil, err
			}
		}},
		{"apply source", "apply scheduled source", func(w *world) func() (answer, error) {
			w.Apply(w.Source())
			w.ApplyFrom(w.Source("size: 500", "size: 300"), fixture.Noon.Add(2*fixture.Day))
			return func() (answer, error) {
				_, err := w.Store.ApplySource(w.Ctx, w.Source("size: 500", "size: 200"), registry.ApplyOptions{From: fixture.Noon.Add(fixture.Day)})
				return nil, err
			}
		}},
		{"apply source", "cancel scheduled sources", func(w *world) func() (answer, error) {
			w.Apply(w.Source())
			w.ApplyFrom(w.Source("size: 500", "size: 300"), fixture.Noon.Add(2*fixture.Day))
			return func() (answer, error) {
				_, err := w.Store.ApplySource(w.Ctx, w.Source(), registry.ApplyOptions{CancelScheduled: true})
				return nil, err
			}
		}},
		{"remove source", "remove source", func(w *world) func() (answer, error) {
			w.Apply(w.Source())
			w.ApplyFrom(w.Source("size: 500", "size: 300"), fixture.Noon.Add(2*fixture.Day))
			w.Clock.Advance(fixture.Day)
			return func() (answer, error) {
				_, err := w.Store.RemoveSource(w.Ctx, w.Source().Code, ingest.Act{Actor: "ann", Reason: "over"})
				return nil, err
			}
		}},
	}
}

package webui

import (
	"github.com/patra-ingest/patra/internal/core/view"
)

// topicDoc is the part of the HTTP interface on one topic.
type topicDoc struct {
	Name   string
	Routes []view.RouteDoc
}

// showInterface tells people what programs may ask and do.
func (s *site) showInterface(*ask) (page, error) {
	var topics []topicDoc
	for _, r := range s.Interface {
		if n := len(topics); n == 0 || topics[n-1].Name != r.Topic {
			topics = append(topics, topicDoc{Name: r.Topic})
		}
		last := &topics[len(topics)-1]
		last.Routes = append(last.Routes, r)
	}
	return page{Template: "interface", Title: countText(len(s.Interface), "route") + " for programs", Lead: "what /openapi.json says, for people", Body: topics}, nil
}

package extract

import "github.com/patra-ingest/patra/internal/core/document"

// Config is the `response` section of an endpoint: where things are in a page.
// Paths are RFC 9535 JSONPath; those of an item start at the item.
type Config struct {
	Items     document.Path            `json:"items" required:"true" doc:"array of items"`
	ID        document.Path            `json:"id" required:"true" doc:"identity of an item; an item without one is quarantined"`
	IDCase    string                   `json:"idCase,omitempty" enum:"KEEP,LOWER" doc:"LOWER where the source's ids are case-insensitive (default KEEP)"`
	UpdatedAt document.Path            `json:"updatedAt" required:"true" doc:"instant of the item's last change"`
	Filtered  document.Path            `json:"filtered,omitzero" doc:"the date the filter selects by; items outside the asked window are dropped and counted"`
	Version   document.Path            `json:"version,omitzero" doc:"the source's own version number, breaks ties of updatedAt"`
	Total     document.Path            `json:"total,omitzero" doc:"number of items the whole query has"`
	NextToken document.Path            `json:"nextToken,omitzero" doc:"token of the next page"`
	HasMore   document.Path            `json:"hasMore,omitzero" doc:"explicit flag that more pages follow"`
	MustHave  []document.Path          `json:"mustHave,omitempty" doc:"paths every good answer has; without them a 200 is an error"`
	Volatile  []document.Path          `json:"volatile,omitempty" doc:"parts of an item that change without the record changing; left out of the content hash"`
	Fields    map[string]document.Path `json:"fields,omitempty" doc:"output fields of the mapped record"`
	Required  []string                 `json:"required,omitempty" doc:"output fields an item must have"`
	// MaxRejectRate guards against a changed schema: more rejects than this share fail the slice.
	MaxRejectRate float64 `json:"maxRejectRate,omitempty" doc:"share of rejected items, 0 to 1, above which the slice fails (default 0.5)"`
}

// WithDefaults fills what the source left open.
func (c Config) WithDefaults() Config {
	if c.IDCase == "" {
		c.IDCase = "KEEP"
	}
	if c.MaxRejectRate == 0 {
		c.MaxRejectRate = 0.5
	}
	return c
}

package view

import "github.com/patra-ingest/patra/internal/core/access"

// RouteDoc tells people of one route of the HTTP interface.
type RouteDoc struct {
	Method, Path string
	Topic        string
	Says         string
	Role         access.Role
	Fields       []RouteField
}

// RouteField is something that a request to a route may or must say.
type RouteField struct {
	Name, In string // in the path, the query, a header or the body
	Type     string
	Required bool
	OneOf    []string
	Says     string
}

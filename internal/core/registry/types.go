package registry

import (
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/freshness"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/tmpl"
	"github.com/patra-ingest/patra/internal/core/twophase"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Source is one source file. The leaf packages own the types of their sections;
// a section may stand at four places and is merged field by field (D§5.18).
type Source struct {
	Code        string                         `json:"source" required:"true" doc:"stable code of the source, lower case"`
	Name        string                         `json:"name" required:"true" doc:"display name"`
	Docs        string                         `json:"docs,omitempty" doc:"address of the vendor's documentation"`
	Unverified  string                         `json:"unverified,omitempty" doc:"why the file may be wrong, if the vendor's own documentation could not be read; shown wherever the source is listed"`
	Credentials map[string]exchange.Credential `json:"credentials,omitempty" doc:"credentials by name; references only, never values"`
	Sections                                   // defaults for every endpoint
	Operations  map[string]Sections            `json:"operations,omitempty" enum:"HARVEST,BACKFILL,UPDATE" doc:"what differs for one operation, at every endpoint"`
	Endpoints   map[string]Endpoint            `json:"endpoints" required:"true" doc:"callable endpoints by name"`

	given  leafSet // what was decoded; see leaves
	places Origins // where sections stand, for problems about what is missing
}

// Endpoint is one callable endpoint of a source.
type Endpoint struct {
	Role       string              `json:"role" required:"true" enum:"SEARCH,DETAIL,FILE,LISTING" doc:"what the endpoint is for: a list that is searched, records by id, files that are read whole, or the list of such files"`
	Supports   []string            `json:"supports,omitempty" enum:"HARVEST,BACKFILL,UPDATE" doc:"operations the endpoint can serve (default all of them; for a DETAIL endpoint UPDATE, for a FILE endpoint HARVEST, for a list that is read whole HARVEST and UPDATE)"`
	Sections                       // for this endpoint
	Operations map[string]Sections `json:"operations,omitempty" enum:"HARVEST,BACKFILL,UPDATE" doc:"what differs for one operation"`
}

// Sections are the strategy bits of §4.
type Sections struct {
	HTTP      *exchange.Config          `json:"http,omitempty" doc:"transport"`
	Request   *exchange.RequestConfig   `json:"request,omitempty" doc:"the request"`
	Filter    *query.DateFilter         `json:"filter,omitempty" doc:"how the upstream selects by date"`
	Auth      *exchange.Auth            `json:"auth,omitempty" doc:"which credential requests carry"`
	Params    map[string]exchange.Param `json:"params,omitempty" doc:"standard keys of the query and the parameters they become"`
	Query     *query.Config             `json:"query,omitempty" doc:"conditions, the fields they name, and how they are written"`
	Templates *tmpl.Config              `json:"templates,omitempty" doc:"what templates may use, and what an empty one becomes"`
	Details   *twophase.Config          `json:"details,omitempty" doc:"second step: whole records for the ids that were found"`
	Paging    *paging.Config            `json:"paging,omitempty" doc:"paging"`
	Window    *window.Config            `json:"window,omitempty" doc:"the window of a plan"`
	Snapshot  *generation.Config        `json:"snapshot,omitempty" doc:"a list without dates, which is read whole (filter.bounds: NONE); without every, for windows whose readings replace each other (response.replaces: WINDOW)"`
	Files     *files.Config             `json:"files,omitempty" doc:"files that hold the records (role: FILE)"`
	Slicing   *slicing.Config           `json:"slicing,omitempty" doc:"how a window is cut"`
	Rate      *gate.Limits              `json:"rate,omitempty" doc:"rate and concurrency"`
	Retry     *fault.RetryPolicy        `json:"retry,omitempty" doc:"retries"`
	Response  *extract.Config           `json:"response,omitempty" doc:"reading the response"`
	Schedule  *schedule.Config          `json:"schedule,omitempty" doc:"when a process that serves starts work automatically"`
	Healing   *health.Config            `json:"healing,omitempty" doc:"from where on trouble of the upstream is acted on"`
	Alerts    *freshness.Config         `json:"alerts,omitempty" doc:"from when on a person should look"`
	Contact   *Contact                  `json:"contact,omitempty" doc:"who we are to the upstream"`

	Partitions map[string]sector.Config `json:"partitions,omitempty" doc:"parts of the list that are asked for one by one, by name; several entries are asked for in every combination"`
}

// Contact identifies the operator to the upstream, as polite pools ask for.
type Contact struct {
	Email string `json:"email,omitempty" doc:"address sent to the upstream; left out of requests when empty"`
}

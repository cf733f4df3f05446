package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/query"
)

// IsDataset reports whether records of the endpoint are kept as a set of their own, with a
// watermark: lists that are searched, and files.
func (e Endpoint) IsDataset() bool { return e.Role == roleSearch || e.Role == roleFile }

// IsListing reports whether the endpoint only names files.
func (e Endpoint) IsListing() bool { return e.Role == roleListing }

// IsListing reports whether the endpoint only names files.
func (r *Resolved) IsListing() bool { return r.Role == roleListing }

// hasNoWindow reports whether requests of the endpoint name no range of time: records are
// asked for by id, and files by their address.
func (r *Resolved) hasNoWindow() bool {
	return r.Role == roleDetail || r.Role == roleFile || r.Role == roleListing
}

// fillFiles gives a set of files the window of its listings: it follows the instant at which
// its files were listed and read, as a list without dates does.
func (r *Resolved) fillFiles() {
	if r.Role != roleFile {
		return
	}
	r.Whole, r.Filter.Ends = r.Files.Whole(), query.NoEnds
	if r.Request.Path == "" {
		r.Request.Path = "/" // the address of a file takes its place
	}
}

// Bootstrap returns the endpoint whose files are read before the first harvest, resolved for the
// same operation.
func (r *Resolved) Bootstrap() (*Resolved, error) { return r.beside(r.Window.Bootstrap) }

// Listing returns the endpoint that names the files, resolved for the same operation. What
// was set for the run about the upstream holds for it too.
func (r *Resolved) Listing() (*Resolved, error) { return r.beside(r.Files.Listing) }

// beside returns another endpoint of the same upstream.
func (r *Resolved) beside(endpoint string) (*Resolved, error) {
	reaching := slices.DeleteFunc(slices.Clone(r.overrides), func(o Override) bool { return !slices.Contains(upstreamSections, o.Path[0]) })
	other, err := Resolve(r.origin, endpoint, r.Operation, reaching)
	if err == nil {
		other.FillContact(r.contact.email, r.contact.from)
	}
	return other, err
}

// LoadsFirst reports whether the endpoint has the files from which another one is loaded first.
func (s *Source) LoadsFirst(endpoint string) bool {
	for _, e := range s.Endpoints {
		if e.Window != nil && e.Window.Bootstrap == endpoint {
			return true
		}
	}
	return false
}

// checkBootstrap refuses files that cannot be read first: nobody would know where to go on.
func (r *Resolved) checkBootstrap() (out Problems) {
	name := r.Window.Bootstrap
	if name == "" || r.Operation != opHarvest {
		return nil
	}
	refuse := func(message, hint string) {
		out = append(out, r.problemAt(Path{"window", "bootstrap"}, "E-BOOTSTRAP: "+message, hint))
	}
	of, ok := r.origin.Endpoints[name]
	switch {
	case !ok || of.Role != roleFile:
		refuse(fmt.Sprintf("there is no endpoint %q with role FILE", name), "name the endpoint that reads the files")
		return out
	case r.Role != roleSearch || r.Whole.On():
		refuse("only a list that is asked for by date goes on where files end", "drop window.bootstrap")
		return out
	}
	first, err := r.Bootstrap()
	if err != nil {
		refuse(err.Error(), "")
		return out
	}
	var listing *Resolved
	if first.Files.Listing != "" {
		listing, err = first.Listing()
	}
	if err != nil || listing == nil || listing.Response.UpdatedAt.IsZero() {
		refuse(fmt.Sprintf("the files of %s have no dates, so it is unknown where the list has to go on", name), "let a LISTING endpoint give the date of each file in response.updatedAt")
	}
	return out
}

// checkFiles refuses files that nobody names, that cannot be shown to be whole, and whatever
// contradicts that they are files.
func (r *Resolved) checkFiles() (out Problems) {
	refuse := func(path Path, code, message, hint string) {
		out = append(out, r.problemAt(path, code+": "+message, hint))
	}
	if r.Role != roleFile && !r.Response.GoneIDs.IsZero() {
		refuse(Path{"response", "goneIds"}, "E-FILES", "only a file has lists of ids that are gone", "say response.gone of an item that announces its own deletion")
	}
	if r.Role == roleListing {
		return append(out, r.checkListing()...)
	}
	if r.Role != roleFile {
		if r.isGiven(Path{"files"}) {
			refuse(Path{"files"}, "E-FILES", "only an endpoint with role FILE has files", "say role: FILE, or drop files")
		}
		return out
	}
	if r.Operation != opHarvest {
		refuse(Path{"files"}, "E-OPERATION", "files have no "+r.Operation+": each tells what is in it now, whenever it is read", "name what the endpoint serves: supports: [HARVEST]")
		return out
	}
	if !r.Files.On() {
		refuse(Path{"files"}, "E-FILES", "an endpoint with role FILE names its files: files.listing, or files.addresses", "")
		return out
	}
	if r.Request.Method != "GET" {
		refuse(Path{"request", "method"}, "E-FILES", "files are fetched by GET", "")
	}
	if r.Response.Format == document.FormatText {
		refuse(Path{"response", "format"}, "E-FILES", "TEXT is for listings and other small answers, not for files of records", "use CSV or JSONL")
	}
	if format := r.Response.Format; r.Files.Packed.Archive() && format != document.FormatJSON && format != document.FormatXML {
		refuse(Path{"files", "packed"}, "E-FILES", fmt.Sprintf("in an archive each file is one item, and a file of %s has many", format), "say response.format: JSON or XML")
	}
	if items := r.Response.Items.String(); r.Response.Format == document.FormatJSON && items != "" && !strings.HasPrefix(items, "$[") {
		refuse(Path{"response", "items"}, "E-FILES", fmt.Sprintf("a file of JSON is one array, and %s is no part of one", items), "write $[*]; where each line is an item, say response.format: JSONL")
	}
	var announced []string
	if r.Files.Listing != "" {
		listing, ok := r.origin.Endpoints[r.Files.Listing]
		if !ok || listing.Role != roleListing {
			refuse(Path{"files", "listing"}, "E-FILES", fmt.Sprintf("there is no endpoint %q with role LISTING", r.Files.Listing), hintFor(r.Files.Listing, sortedKeys(r.origin.Endpoints), "endpoints"))
			return out
		}
		found, err := r.Listing()
		if err != nil {
			refuse(Path{"files", "listing"}, "E-FILES", err.Error(), "")
			return out
		}
		announced = slices.Collect(maps.Keys(found.Response.Fields))
	}
	if r.Files.SumSuffix != "" {
		announced = append(announced, files.FieldMD5)
	}
	if !files.MayShowEnd(r.Response.Format, r.Files.Packed, announced) {
		refuse(Path{"files", "packed"}, "E-FILES-END", fmt.Sprintf("nothing could show that a file was wholly read: a file of %s that is cut after a line looks whole", r.Response.Format),
			"let the LISTING endpoint give size, lines, md5 or sha256 in response.fields, or say files.sumSuffix where a checksum stands beside each file")
	}
	return out
}

// checkListing refuses a listing that does not say where files are, or says things of them
// that nobody knows.
func (r *Resolved) checkListing() (out Problems) {
	if _, ok := r.Response.Fields[files.FieldAddress]; !ok {
		out = append(out, r.problemAt(Path{"response", "fields"}, "E-FILES: a listing says where each file is: response.fields.address", "the address may be relative to http.baseUrl of the FILE endpoint"))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Response.Fields)) {
		if !slices.Contains(files.Fields(), name) {
			out = append(out, r.problemAt(Path{"response", "fields", name}, fmt.Sprintf("E-FILES: %q is not a field of a listed file", name), hintFor(name, files.Fields(), "fields")))
		}
	}
	return out
}

package trust

import (
	"net/url"

	"github.com/patra-ingest/patra/internal/core/spec"
)

// Warnings names what a source wants of this machine, for whoever reads it before
// it runs. It says the same whether somebody agreed to it or not. What comes with
// the program and goes where the program says is left out.
func Warnings(s spec.Snapshot, known func(Use) bool) (out []spec.Warning) {
	own := map[string]bool{Proxy: true}
	for at := &s; at != nil; at = at.Detail {
		if base, err := url.Parse(at.HTTP.BaseURL); err == nil {
			own[HostOf(base)] = true
		}
	}
	for _, u := range Of(s) {
		if !known(u) {
			out = append(out, u.listWarnings(own[u.Host])...)
		}
	}
	return out
}

func (u Use) listWarnings(own bool) (out []spec.Warning) {
	switch scheme, name := u.Ref.Split(); scheme {
	case recordsScheme:
		return []spec.Warning{{Code: "W-RECORDS-HOST", Message: "sends what is stored of " + name + " to " + u.Host}}
	case "exec":
		out = append(out, spec.Warning{Code: "W-EXEC", Message: "runs the command `" + name + "` on this machine"})
	case "file":
		out = append(out, spec.Warning{Code: "W-SECRET-FILE", Message: "reads the file " + name + " of this machine"})
	}
	switch {
	case u.Host == Proxy:
		out = append(out, spec.Warning{Code: "W-SECRET-HOST", Message: "sends requests through the proxy that " + u.Ref.String() + " names"})
	case own:
		out = append(out, spec.Warning{Code: "W-SECRET-HOST", Message: "sends " + u.Ref.String() + " to " + u.Host})
	default:
		out = append(out, spec.Warning{Code: "W-SECRET-HOST", Message: "sends " + u.Ref.String() + " to " + u.Host + ", which is not the host of http.baseUrl"})
	}
	return out
}

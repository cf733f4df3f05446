package registry

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// Remote is what a server lets source files want of it that come over the network. Its
// zero value lets them want nothing. Commands are on no list: a file that comes over the
// network never runs one.
type Remote struct {
	Folders []string     `json:"folders,omitempty" doc:"folders below which file: may read, as absolute paths"`
	Private []string     `json:"private,omitempty" doc:"hosts for which http.allowPrivate may be set"`
	Plain   []string     `json:"plain,omitempty" doc:"hosts for which http.allowHttp may be set"`
	Tokens  []string     `json:"tokens,omitempty" doc:"hosts that tokens may come from beside the host of http.baseUrl"`
	Proxies []secret.Ref `json:"proxies,omitempty" doc:"references that http.proxy may name"`
}

// RemoteProblems finds what a source wants of the machine that no source may want that
// comes over the network (SECURITY R5). It reads nothing but the source, and tells the key
// and its place, not the value.
func (s *Source) RemoteProblems(allow Remote) (out Problems) {
	leaves := s.allLeaves()
	refuse := func(l Leaf, message, hint string) {
		key := l.Path.String()
		out = append(out, problemAt(s.placeOf(key), key, "E-REMOTE: "+message, hint))
	}
	bases := leaves.baseHosts()
	for _, l := range leaves.sortLeaves() {
		if ref, isRef := l.Value.(secret.Ref); isRef {
			if message, hint := allow.judgeReference(l.Path, ref); message != "" {
				refuse(l, message, hint)
			}
			continue
		}
		switch l.Path.lastTwo() {
		case "http.allowPrivate":
			if l.Value == true && !allHosts(slices.Concat(bases, leaves.redirectHosts()), allow.Private) {
				refuse(l, "private addresses are not allowed here", "the installation lists their hosts, or the file is applied with the command line of the server")
			}
		case "http.allowHttp":
			if l.Value == true && !allHosts(slices.Concat(bases, leaves.redirectHosts()), allow.Plain) {
				refuse(l, "plain http is not allowed here", "use https")
			}
		default:
			if text, isText := l.Value.(string); isText && l.isTokenAddress() && !allow.allowsToken(text, bases) {
				refuse(l, "secrets would go to another host than http.baseUrl names", "the installation lists hosts that tokens may come from")
			}
		}
	}
	return out.sortProblems()
}

// judgeReference says what is wrong with a reference; nothing if it may be named.
func (r Remote) judgeReference(at Path, ref secret.Ref) (message, hint string) {
	scheme, name := ref.Split()
	switch {
	case ref.IsZero():
		return "", ""
	case scheme == "exec":
		return "commands are never run for a file that comes over the network", "name a variable with env:"
	case at.lastTwo() == "http.proxy" && !slices.Contains(r.Proxies, ref):
		return "a proxy is not allowed here", "the installation lists the proxies that files may name"
	case scheme == "file" && !r.holdsFile(name):
		return "this file may not be read for a source that comes over the network", "name a file in a folder that the installation lists"
	}
	return "", ""
}

// holdsFile reports whether a file lies below one of the folders, as it is written.
func (r Remote) holdsFile(name string) bool {
	if !path.IsAbs(name) || path.Clean(name) != name {
		return false
	}
	return slices.ContainsFunc(r.Folders, func(folder string) bool {
		folder = path.Clean(folder)
		return path.IsAbs(folder) && folder != "/" && strings.HasPrefix(name, folder+"/")
	})
}

// allowsToken reports whether an address is a path, is at a host that is asked anyway, or
// is listed.
func (r Remote) allowsToken(address string, bases []string) bool {
	host, ok := hostIn(address)
	return ok && (host == "" || slices.Contains(bases, host) || slices.Contains(r.Tokens, host))
}

// isTokenAddress reports whether a leaf is where a credential gets its token.
func (l Leaf) isTokenAddress() bool {
	last := l.Path[len(l.Path)-1]
	return slices.Contains([]string{"credentials", "credential"}, l.Path.sectionPath()[0]) && (last == "tokenUrl" || l.Path.lastTwo() == "login.url")
}

// lastTwo returns the end of a path, which names a setting at whatever level it stands.
func (p Path) lastTwo() string { return strings.Join(p[max(0, len(p)-2):], ".") }

// baseHosts lists the hosts that a source asks, at whatever level they are named.
func (s leafSet) baseHosts() (out []string) {
	for _, l := range s.sortLeaves() {
		if text, isText := l.Value.(string); isText && l.Path.lastTwo() == "http.baseUrl" {
			if host, ok := hostIn(text); ok {
				out = append(out, host)
			}
		}
	}
	return out
}

// redirectHosts lists the hosts that a source lets requests be sent on to.
func (s leafSet) redirectHosts() (out []string) {
	for _, l := range s.sortLeaves() {
		if hosts, isList := l.Value.([]string); isList && l.Path.lastTwo() == "http.redirectHosts" {
			for _, host := range hosts {
				out = append(out, strings.ToLower(host))
			}
		}
	}
	return out
}

// hostIn returns the host of an address in lower case, with its port; none if it is a
// path. False: it is no address at all.
func hostIn(address string) (host string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || strings.ContainsAny(address, "$\\") || u.User != nil {
		return "", false
	}
	return strings.ToLower(u.Host), true
}

// allHosts reports whether there are hosts, and all of them are listed.
func allHosts(hosts, listed []string) bool {
	return len(hosts) > 0 && !slices.ContainsFunc(hosts, func(host string) bool { return !slices.Contains(listed, host) })
}

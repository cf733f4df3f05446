package work

import (
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/daemon"
)

// doorFlags are the flags that say who comes in to the HTTP interface.
type doorFlags struct {
	hosts, proxies       []string
	anonymous, tokenFile string
}

func (d *doorFlags) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&d.hosts, "host", nil, "with the role api: another name it answers to, such as patra.example.org")
	f.StringSliceVar(&d.proxies, "behind-proxy", nil, "with the role api: address or range of a TLS proxy whose X-Forwarded-For, -Host and -Proto headers are trusted")
	f.StringVar(&d.anonymous, "anonymous", "", "with the role api: viewer lets everybody on this machine look without an access token")
	f.StringVar(&d.tokenFile, "token-file", "", "with the role api: where the first access token is written if there is none yet (default: beside a SQLite file)")
}

// given is the first of the flags that was given.
func (d doorFlags) given(flags *pflag.FlagSet) string {
	for _, name := range []string{"host", "behind-proxy", "anonymous", "token-file"} {
		if flags.Changed(name) {
			return name
		}
	}
	return ""
}

// apply says where the HTTP interface is, and who comes in.
func (d doorFlags) apply(e *term.Env, at daemon.ListenConfig, c *daemon.Config) error {
	door := daemon.EntranceConfig{Address: at.Address, Cert: at.Cert, Key: at.Key, Hosts: d.hosts, TokenFile: d.tokenFile, Version: term.Version}
	for _, text := range d.proxies {
		p, err := parseProxy(text)
		if err != nil {
			return term.Usagef("--behind-proxy %q: expected an address or a range, such as 10.0.0.5 or 10.0.0.0/24", text)
		}
		door.Proxies = append(door.Proxies, p)
	}
	if d.anonymous != "" {
		var err error
		if door.Anonymous, err = access.ParseRole(d.anonymous); err != nil {
			return term.Usagef("--anonymous: %v", err)
		}
	}
	if err := door.Check(); err != nil {
		return term.Usagef("--listen: %v", err)
	}
	if term.IsTerminal(e.Err) {
		door.Tell = func(address string) {
			fmt.Fprintf(e.Err, "The dashboard is open. This link lets you in once, within 15 minutes, as admin:\n  %s\n", address)
		}
	}
	c.Entrance = door
	return nil
}

func parseProxy(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.Unmap().Prefix(addr.Unmap().BitLen())
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}

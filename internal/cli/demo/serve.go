package demo

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/daemon"
)

// applySource makes the simulated upstream the one of the source in this database: whoever
// fills or counts in the dashboard of the demo must not ask the real Crossref.
func (d *demo) applySource(ctx context.Context) error {
	src, err := d.source()
	if err != nil {
		return err
	}
	src.HTTP.BaseURL, src.HTTP.AllowPrivate = d.server.URL(), true
	src.Rate.ObeyHeaders = new(bool)
	_, err = d.app.ApplySource(ctx, src, registry.ApplyOptions{Actor: "patra demo", Reason: "the simulated source takes the place of the real one"})
	return err
}

// entrance says where the dashboard of the demo is: at its usual place, or at any free port if
// that one is taken.
func (d *demo) entrance() daemon.EntranceConfig {
	if !d.serve {
		return daemon.EntranceConfig{}
	}
	c := daemon.EntranceConfig{Address: daemon.EntranceAddress, Version: term.Version, Opened: d.tellOpened}
	if l, err := net.Listen("tcp", c.Address); err != nil {
		c.Address = "127.0.0.1:0"
	} else {
		_ = l.Close()
	}
	if term.IsTerminal(d.env.Err) {
		c.Tell = func(address string) {
			fmt.Fprintf(d.env.Err, "\nThis link lets you in once, within 15 minutes, as admin:\n  %s\n", address)
		}
	}
	return c
}

// tellOpened says where the dashboard is. It goes where messages go, so that -o json stays
// JSON, and -q does not hide it: without it nobody gets in.
func (d *demo) tellOpened(address, tokenFile string) {
	fmt.Fprintf(d.env.Err, "\nThe dashboard is at %s until Ctrl-C.\n", address)
	if tokenFile == "" {
		return
	}
	if whole, err := filepath.Abs(tokenFile); err == nil {
		tokenFile = whole
	}
	fmt.Fprintf(d.env.Err, "The access token for it is in %s\n", tokenFile)
}

// serveUntilEnd keeps the dashboard and the simulated source up until the user has had
// enough, and works on what is started there.
func (d *demo) serveUntilEnd(ctx context.Context) error {
	err := d.app.Serve(ctx, []daemon.Role{daemon.RolePlanner, daemon.RoleExecutor, daemon.RoleAPI})
	if ctx.Err() != nil {
		return nil // Ctrl-C is how it ends
	}
	return err
}

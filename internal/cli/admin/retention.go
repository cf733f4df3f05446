package admin

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/daemon"
)

// archiveDays is how long history stays in the database when somebody archives
// and does not say otherwise (§10.7).
const archiveDays = 90

// removing are the flags of what is removed for good.
type removing struct {
	versions, outbox, unclaimed string
	least                       int
}

// flags declares what is removed, and says what becomes of messages if nobody says.
func (r *removing) flags(c *cobra.Command, outbox, unclaimed string) {
	c.Flags().StringVar(&r.versions, "versions-keep", "", "remove versions of records that were replaced longer ago than this (default PATRA_VERSIONS_KEEP, else keep all)")
	c.Flags().IntVar(&r.least, "versions-min", 1, "how many replaced versions older than --versions-keep to keep for each record")
	c.Flags().StringVar(&r.outbox, "outbox-keep", "", "remove messages that were published longer ago than this (default PATRA_OUTBOX_KEEP, else "+outbox+")")
	c.Flags().StringVar(&r.unclaimed, "unclaimed-keep", "", "remove messages that were written longer ago than this, in a database from which no process ever published (default PATRA_UNCLAIMED_KEEP, else "+unclaimed+")")
}

func (r removing) fillPolicy(p *retention.Policy) (err error) {
	if p.Versions, err = parseKeep("versions-keep", r.versions, "PATRA_VERSIONS_KEEP"); err != nil {
		return err
	}
	if p.Outbox, err = parseKeep("outbox-keep", r.outbox, "PATRA_OUTBOX_KEEP"); err != nil {
		return err
	}
	if p.Unclaimed, err = parseKeep("unclaimed-keep", r.unclaimed, "PATRA_UNCLAIMED_KEEP"); err != nil {
		return err
	}
	if p.MinVersions = r.least; r.least < 1 {
		return term.Usagef("--versions-min %d: at least 1 stays, the one that was current then", r.least)
	}
	return nil
}

// keepAll is how somebody says that nothing is removed.
const keepAll = "all"

// parseKeep reads how long something is kept; nothing said, or "all", keeps all.
func parseKeep(flag, text, env string) (time.Duration, error) {
	name := "--" + flag
	if text == "" {
		if text, name = term.EnvOr(env, ""), env; text == "" {
			return 0, nil
		}
	}
	if text == keepAll {
		return 0, nil
	}
	d, err := term.ParseDuration(text)
	if err != nil {
		return 0, term.Usagef("%s: %v", name, err)
	}
	if d < retention.Least {
		return 0, term.Usagef("%s %s: expected a day at least, such as 90d", name, text)
	}
	return d, nil
}

// HistoryFlags are the flags of a process that looks after its database by itself.
type HistoryFlags struct {
	keep, dir   string
	unpublished bool
	removing
}

func (k *HistoryFlags) Flags(c *cobra.Command) {
	term.ArchiveDirFlag(c, &k.dir)
	c.Flags().StringVar(&k.keep, "archive-keep", "", fmt.Sprintf("once a day, move history older than this to files, such as %dd (default PATRA_ARCHIVE_KEEP, else keep all)", archiveDays))
	c.Flags().BoolVar(&k.unpublished, "archive-unpublished", false, "also archive plans whose events still wait in the outbox")
	k.removing.flags(c, "30d", "90d")
}

// serveMinEvents: a process that runs every day leaves a short ledger alone.
const serveMinEvents = 1000

func (k HistoryFlags) Config() (c daemon.ArchiveConfig, err error) {
	c.Dir = term.ArchiveDir(k.dir)
	c.Policy = retention.Policy{Unpublished: k.unpublished, MinEvents: serveMinEvents}
	if least := term.EnvOr("PATRA_ARCHIVE_MIN_EVENTS", ""); least != "" {
		if c.Policy.MinEvents, err = strconv.Atoi(least); err != nil {
			return c, term.Usagef("PATRA_ARCHIVE_MIN_EVENTS %q: expected a whole number", least)
		}
	}
	if c.Policy.Archive, err = parseKeep("archive-keep", k.keep, "PATRA_ARCHIVE_KEEP"); err != nil {
		return c, err
	}
	if err := k.fillPolicy(&c.Policy); err != nil {
		return c, err
	}
	if k.outbox == "" && term.EnvOr("PATRA_OUTBOX_KEEP", "") == "" {
		c.Policy.Outbox = retention.UsualOutbox
	}
	if k.unclaimed == "" && term.EnvOr("PATRA_UNCLAIMED_KEEP", "") == "" {
		c.Policy.Unclaimed = retention.UsualUnclaimed
	}
	return c, nil
}

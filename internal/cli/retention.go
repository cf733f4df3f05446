package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/daemon"
)

// archiveDays is how long history stays in the database when somebody archives
// and does not say otherwise (§10.7).
const archiveDays = 90

// archiveDirFlag is for all commands that write or read archives.
func archiveDirFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "archive-dir", "", "folder of archives (default PATRA_ARCHIVE_DIR, else FILE.archive beside the SQLite file)")
}

func archiveDir(flag string) string {
	if flag != "" {
		return flag
	}
	return envOr("PATRA_ARCHIVE_DIR", "")
}

// removing are the flags of what is removed for good.
type removing struct {
	versions, outbox string
	least            int
}

func (r *removing) flags(c *cobra.Command) {
	c.Flags().StringVar(&r.versions, "versions-keep", "", "remove versions of records that were replaced longer ago (default PATRA_VERSIONS_KEEP, else keep all)")
	c.Flags().IntVar(&r.least, "versions-min", 1, "how many versions stay that are older than that, for each record")
	c.Flags().StringVar(&r.outbox, "outbox-keep", "", "remove messages that were published longer ago (default PATRA_OUTBOX_KEEP, else keep all)")
}

func (r removing) policy(p *retention.Policy) (err error) {
	if p.Versions, err = keeping("versions-keep", r.versions, "PATRA_VERSIONS_KEEP"); err != nil {
		return err
	}
	if p.Outbox, err = keeping("outbox-keep", r.outbox, "PATRA_OUTBOX_KEEP"); err != nil {
		return err
	}
	if p.MinVersions = r.least; r.least < 1 {
		return usagef("--versions-min %d: at least 1 stays, the one that was current then", r.least)
	}
	return nil
}

// keeping reads how long something is kept; nothing said keeps all.
func keeping(flag, text, env string) (time.Duration, error) {
	name := "--" + flag
	if text == "" {
		if text, name = envOr(env, ""), env; text == "" {
			return 0, nil
		}
	}
	d, err := parseStretch(text)
	if err != nil {
		return 0, usagef("%s: %v", name, err)
	}
	if d < retention.Least {
		return 0, usagef("%s %s: expected a day at least, such as 90d", name, text)
	}
	return d, nil
}

// keepingHistory are the flags of a process that looks after its database by itself.
type keepingHistory struct {
	keep, dir   string
	unpublished bool
	removing
}

func (k *keepingHistory) flags(c *cobra.Command) {
	archiveDirFlag(c, &k.dir)
	c.Flags().StringVar(&k.keep, "archive-keep", "", fmt.Sprintf("once a day, move history older than this to files, such as %dd (default PATRA_ARCHIVE_KEEP, else keep all)", archiveDays))
	c.Flags().BoolVar(&k.unpublished, "archive-unpublished", false, "archive plans also while their events wait in the outbox")
	k.removing.flags(c)
}

// serveMinEvents: a process that runs every day leaves a short ledger alone.
const serveMinEvents = 1000

func (k keepingHistory) config() (c daemon.ArchiveConfig, err error) {
	c.Dir = archiveDir(k.dir)
	c.Policy = retention.Policy{Unpublished: k.unpublished, MinEvents: serveMinEvents}
	if least := envOr("PATRA_ARCHIVE_MIN_EVENTS", ""); least != "" {
		if c.Policy.MinEvents, err = strconv.Atoi(least); err != nil {
			return c, usagef("PATRA_ARCHIVE_MIN_EVENTS %q: expected a whole number", least)
		}
	}
	if c.Policy.Archive, err = keeping("archive-keep", k.keep, "PATRA_ARCHIVE_KEEP"); err != nil {
		return c, err
	}
	return c, k.policy(&c.Policy)
}

package work

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/admin"
	"github.com/patra-ingest/patra/internal/cli/events"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/daemon"
)

func NewServe(e *term.Env) *cobra.Command {
	var roles string
	var settings Settings
	var history admin.HistoryFlags
	var told events.File
	var shown listening
	c := &cobra.Command{
		Use:   "serve",
		Short: "Keep sources fresh: plan by schedule and work on tasks until stopped",
		Long: `Follow the schedules of all applied sources, and work on tasks, until stopped.

The schedule section of a source says when its work is due: by cron or at an
interval. Apply the file, and a running patra serve notices within seconds.
Every tick leaves a trigger with what it asked for, and a plan or the reason why
there is none. Ticks that were missed become one. A tick waits while the plan of the
tick before it is still being worked on.

Roles:
  planner   plans by schedule. Any number of processes may have the role; one at
            a time plans, the others take over when it stops or dies
  executor  works on the tasks of all plans
  relay     publishes the events of changed records to the destinations in the
            --events file. Any number of processes may have the role; one at a
            time works on the events of a dataset
  alert     tells the receivers in patra.yaml of findings (docs/alerts.md). Any
            number of processes may have the role; one at a time tells. It is
            left out where no receiver is declared
  api       answers programs and browsers at --listen (docs/access.md). Every
            request needs an access token (patra token create); on a terminal
            a link is shown that lets you in once
Once a day a planner also archives and removes history, if you say how long to keep
it (--archive-keep, --versions-keep). Events of the outbox are removed 30 days after
their delivery (--outbox-keep); where no process ever published, 90 days after they
were written (--unclaimed-keep). The value all keeps them.

Its log is lines of JSON, or text on a terminal: --log-format, --log-level and
--log-file, or the section log of patra.yaml. SIGHUP opens the log file again, so
that logrotate can rename it.

--metrics-listen shows the state of the process: /metrics for Prometheus, /healthz
(it runs), /readyz (its database answers and has the schema of this program). An
address that other machines reach needs a certificate and a token for /metrics. The
same can stand in the section listen of patra.yaml; --metrics-listen '' then means
nowhere. Without the role api, --listen and its companions mean the same. The
metrics are listed in docs/metrics.md.

SIGTERM stops it in an orderly way with exit code 0, Ctrl-C with 130: committed
pages stay, leases are given back, the next process continues.`,
		Example: `  patra serve
  patra serve --roles planner
  patra serve --metrics-listen 127.0.0.1:9464
  patra serve --roles planner,executor,api
  patra serve --roles api --listen 10.0.0.7:8750 --behind-proxy 10.0.0.5
  patra serve --roles executor --workers 8
  patra serve --roles planner,executor,relay --events events.yaml
  patra serve --log-level warn --log-file /var/log/patra/serve.log`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServe(cmd.Context(), e, roles, settings, history, told, func(c *daemon.Config, api bool) error { return shown.apply(e, cmd.Flags(), api, c) })
		},
	}
	c.Flags().StringVar(&roles, "roles", usualRoles, "duties of this process: planner, executor, relay, alert, api or several")
	settings.Flags(c)
	history.Flags(c)
	told.Flags(c)
	shown.addFlags(c)
	return c
}

// usualRoles are those of a process that was not told which to have.
const usualRoles = "planner,executor,alert"

func runServe(ctx context.Context, e *term.Env, text string, settings Settings, history admin.HistoryFlags, told events.File, listen func(c *daemon.Config, api bool) error) error {
	roles, err := daemon.ParseRoles(text)
	if err != nil {
		return term.Usagef("--roles: %v", err)
	}
	if text == usualRoles && len(e.Installed.Alerts.Receivers) == 0 {
		roles = slices.DeleteFunc(roles, func(r daemon.Role) bool { return r == daemon.RoleAlert })
	}
	log, stopLog, err := e.ServeLogger()
	if err != nil {
		return err
	}
	defer stopLog()
	config := daemon.Config{Database: e.Database, Installed: e.Installed, Log: log, Warn: e.WarnOnce}
	if err := errors.Join(settings.Apply(&config), listen(&config, slices.Contains(roles, daemon.RoleAPI))); err != nil {
		return err
	}
	if config.Archive, err = history.Config(); err != nil {
		return err
	}
	switch relays := slices.Contains(roles, daemon.RoleRelay); {
	case relays:
		if config.Events, err = told.Read(); err != nil {
			return err
		}
		config.EventsFile = told.Name()
	case told.Path != "":
		return term.Usagef("--events: without the role relay nothing is published: say --roles %s,relay", text)
	}
	defer config.TraceTo(ctx, term.Version)()
	app, err := daemon.Open(ctx, config)
	if err != nil {
		return err
	}
	defer app.Close()
	HintNewAndRaw(e, app)
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	err = app.Serve(ctx, roles)
	signal.Stop(terminated) // waits for a signal that is on its way
	if ctx.Err() != nil && len(terminated) > 0 {
		return nil // whoever keeps services asked for it, so nothing went wrong
	}
	return err
}

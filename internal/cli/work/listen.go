package work

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/daemon"
)

// listening are the flags that say where a process is reached: its metrics and its health,
// and with the role api the HTTP interface.
type listening struct {
	shown   daemon.ListenConfig // --listen…: the interface, or without it the metrics
	metrics daemon.ListenConfig // --metrics-…
	every   string
	door    doorFlags
}

func (l *listening) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&l.shown.Address, "listen", "", "with the role api: where the HTTP interface is, HOST:PORT or unix:PATH (default "+daemon.EntranceAddress+"); without that role: the same as --metrics-listen")
	f.StringVar(&l.shown.Cert, "listen-cert", "", "file with the TLS certificate for this address; required unless only this machine can reach it")
	f.StringVar(&l.shown.Key, "listen-key", "", "file with the private key of that certificate")
	f.StringVar(&l.shown.Token, "listen-token", "", "without the role api: the same as --metrics-token")
	f.StringVar(&l.metrics.Address, "metrics-listen", "", "show /metrics, /healthz and /readyz at HOST:PORT, such as 127.0.0.1:9464 (default: nowhere)")
	f.StringVar(&l.metrics.Cert, "metrics-cert", "", "file with the TLS certificate for this address; required unless only this machine can reach it")
	f.StringVar(&l.metrics.Key, "metrics-key", "", "file with the private key of that certificate")
	f.StringVar(&l.metrics.Token, "metrics-token", "", "env:NAME, file:PATH or exec:COMMAND that give the bearer token for /metrics; required unless only this machine can reach it")
	f.StringVar(&l.every, "metrics-every", "30s", "how often stored rows are read for the metrics")
	l.door.addFlags(f)
}

// apply says where the process is reached. What a flag says wins over patra.yaml.
func (l listening) apply(e *term.Env, given *pflag.FlagSet, api bool, c *daemon.Config) error {
	if api {
		if given.Changed("listen-token") {
			return term.Usagef("--listen-token: with the role api it is called --metrics-token; the HTTP interface has access tokens of its own (patra token create)")
		}
		if err := l.door.apply(e, l.shown, c); err != nil {
			return err
		}
		return l.applyMetrics(e, given, "metrics-", c)
	}
	if name := l.door.given(given); name != "" {
		return term.Usagef("--%s is about the HTTP interface: add the role api to --roles", name)
	}
	for _, part := range metricsFlags {
		if given.Changed("listen"+part.older) && given.Changed("metrics-"+part.name) {
			return term.Usagef("--listen%s and --metrics-%s mean the same without the role api: leave one out", part.older, part.name)
		}
	}
	if given.Changed("metrics-listen") {
		return l.applyMetrics(e, given, "metrics-", c)
	}
	l.metrics = l.shown
	return l.applyMetrics(e, given, "listen", c)
}

// metricsFlags are the flags of the metrics, with what the older ones have behind "listen".
var metricsFlags = []struct{ name, older string }{{"listen", ""}, {"cert", "-cert"}, {"key", "-key"}, {"token", "-token"}}

// applyMetrics switches counting on where somebody may read it.
func (l listening) applyMetrics(e *term.Env, given *pflag.FlagSet, prefix string, c *daemon.Config) (err error) {
	m := l.metrics
	if m.Every, err = term.ParseDuration(l.every); err != nil {
		return term.Usagef("--metrics-every: %v", err)
	}
	changed := func(name, older string) bool {
		if prefix == "listen" {
			return given.Changed("listen" + older)
		}
		return given.Changed(prefix + name)
	}
	where := "--metrics-listen"
	if prefix == "listen" {
		where = "--listen"
	}
	if in := e.Installed; in.Listen.Address != "" && !changed("listen", "") {
		where = "listen of " + in.File
		fillFrom(&m, in.Listen, changed, given.Changed("metrics-every"))
	}
	if err := m.Check(); err != nil {
		return term.Usagef("%s: %v", where, err)
	}
	c.Metrics = daemon.MetricsConfig{On: m.Address != "", Version: term.Version, Listen: m}
	return nil
}

// fillFrom takes from patra.yaml what no flag says.
func fillFrom(m *daemon.ListenConfig, in config.Listen, changed func(name, older string) bool, everyGiven bool) {
	values := []string{in.Address, in.Cert, in.Key, in.Token.String()}
	for i, into := range []*string{&m.Address, &m.Cert, &m.Key, &m.Token} {
		if part := metricsFlags[i]; !changed(part.name, part.older) {
			*into = values[i]
		}
	}
	if in.MetricsEvery != 0 && !everyGiven {
		m.Every = in.MetricsEvery.Std()
	}
}

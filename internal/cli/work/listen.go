package work

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/daemon"
)

// listening are the flags that say where a process shows its metrics and its health.
type listening struct {
	daemon.ListenConfig
	every string
}

func (l *listening) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&l.Address, "listen", "", "show /metrics, /healthz and /readyz at HOST:PORT, such as 127.0.0.1:9464 (default: nowhere)")
	c.Flags().StringVar(&l.Cert, "listen-cert", "", "file with the certificate to show there; beyond this machine it is needed")
	c.Flags().StringVar(&l.Key, "listen-key", "", "file with its key")
	c.Flags().StringVar(&l.Token, "listen-token", "", "env:NAME, file:PATH or exec:COMMAND that give the bearer token for /metrics; beyond this machine it is needed")
	c.Flags().StringVar(&l.every, "metrics-every", "30s", "how often stored rows are read for the metrics")
}

// apply switches counting on where somebody may read it. What a flag says wins over
// patra.yaml.
func (l listening) apply(e *term.Env, given *pflag.FlagSet, c *daemon.Config) (err error) {
	if l.Every, err = term.ParseDuration(l.every); err != nil {
		return term.Usagef("--metrics-every: %v", err)
	}
	where := "--listen"
	if in := e.Installed; in.Listen.Address != "" && !given.Changed("listen") {
		where = "listen of " + in.File
		l.fillFrom(in.Listen, given)
	}
	if err := l.Check(); err != nil {
		return term.Usagef("%s: %v", where, err)
	}
	c.Metrics = daemon.MetricsConfig{On: l.Address != "", Version: term.Version, Listen: l.ListenConfig}
	return nil
}

// fillFrom takes from patra.yaml what no flag says.
func (l *listening) fillFrom(in config.Listen, given *pflag.FlagSet) {
	for flag, take := range map[string]func(){
		"listen":       func() { l.Address = in.Address },
		"listen-cert":  func() { l.Cert = in.Cert },
		"listen-key":   func() { l.Key = in.Key },
		"listen-token": func() { l.Token = in.Token.String() },
		"metrics-every": func() {
			if in.MetricsEvery != 0 {
				l.Every = in.MetricsEvery.Std()
			}
		},
	} {
		if !given.Changed(flag) {
			take()
		}
	}
}

package config

import "github.com/patra-ingest/patra/internal/core/threshold"

func (c *checker) findings(given threshold.Config) {
	for _, p := range given.Check() {
		c.report("findings."+p.Key, p.Message, p.Hint)
	}
}

package config

import (
	"fmt"
	"strings"
)

// Words that a log is asked for with, by flags and by patra.yaml.
const (
	LogText = "text"
	LogJSON = "json"
)

// LogFormats and LogLevels are the words that are known.
var (
	LogFormats = []string{LogText, LogJSON}
	LogLevels  = []string{"debug", "info", "warn", "error"}
)

// Log is how `patra serve` logs. Other commands log as their flags say: nobody wants a
// list of sources to write into the log of a service.
type Log struct {
	Format string `json:"format,omitempty" enum:"text,json" doc:"form of a line; without it JSON, and text on a terminal"`
	Level  string `json:"level,omitempty" enum:"debug,info,warn,error" doc:"the least that is written; without it info"`
	File   string `json:"file,omitempty" doc:"file that lines are added to instead of stderr; SIGHUP opens it anew"`
	// Sample holds for all commands: how much is said of batches does not depend on who
	// works on them.
	Sample *float64 `json:"sample,omitempty" doc:"share of batches that leave a line although all went well, from 0 to 1; without it 0.01"`
}

func (c *checker) log(l Log) {
	if l.Sample != nil && !(*l.Sample <= 1) { // one below zero is refused when it is read, as everywhere
		c.report("log.sample", fmt.Sprintf("%v is not a share", *l.Sample), "0 for none, 0.01 for one of a hundred, 1 for all")
	}
	if l.File != "" && !strings.HasPrefix(l.File, "/") && !isDrive(l.File) {
		c.report("log.file", fmt.Sprintf("%q is not an absolute path", l.File), "a relative path would depend on the folder that patra is started in")
	}
}

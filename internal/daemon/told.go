package daemon

import (
	"log/slog"

	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// IsToldAtTheEnd reports whether a line of the log is about one task of many, which a
// command that works on a plan counts and names when it ends.
func IsToldAtTheEnd(line slog.Record) bool { return line.Message == worklog.GivenUp }

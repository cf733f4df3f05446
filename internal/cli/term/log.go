package term

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/core/privacy"
)

// NewLog writes lines without data of people (§14.10): what an upstream says of
// an item comes here too.
func NewLog(to io.Writer, format string, level slog.Level) *slog.Logger {
	return slog.New(newHandler(to, format, level))
}

func newHandler(to io.Writer, format string, level slog.Level) slog.Handler {
	if format == config.LogJSON {
		return slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level, ReplaceAttr: forPrograms})
	}
	return slog.NewTextHandler(to, &slog.HandlerOptions{Level: level, ReplaceAttr: hidePeople})
}

// forPrograms hides what hidePeople hides, and gives lengths of time in seconds:
// nanoseconds fit no other number of ours.
func forPrograms(groups []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.Float64(a.Key, a.Value.Duration().Seconds())
	}
	return hidePeople(groups, a)
}

// hidePeople masks texts, and whatever would be written as one. Times become UTC, as
// everywhere; numbers stay as they are.
func hidePeople(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindTime:
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	case slog.KindString:
		a.Value = slog.StringValue(privacy.Mask(a.Value.String()))
	case slog.KindAny:
		switch value := a.Value.Any().(type) {
		case *slog.Source, slog.Level:
		case error:
			a.Value = slog.StringValue(privacy.Mask(value.Error()))
		default:
			a.Value = slog.StringValue(privacy.Mask(fmt.Sprintf("%+v", value)))
		}
	}
	return a
}

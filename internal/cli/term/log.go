package term

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/patra-ingest/patra/internal/core/privacy"
)

// NewLog writes lines without data of people (§14.10): what an upstream says of
// an item comes here too.
func NewLog(to io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: level, ReplaceAttr: hidePeople}))
}

// hidePeople masks texts, and whatever would be written as one. Times and numbers
// stay as they are.
func hidePeople(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
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

package extract

import (
	"regexp"
	"strings"

	"github.com/patra-ingest/patra/internal/core/privacy"
)

// maxShown bounds what an error repeats of a body.
const maxShown = 120

// credentials are what upstreams echo: NCBI's rate-limit answer holds the key or
// the address of the caller (I12).
var credentials = regexp.MustCompile(`(?i)((?:api|access)[-_ ]?key|token|secret|password|passwd|authorization|signature|e-?mail|mailto)(["']?\s*[:=]\s*["']?)(?:bearer\s+|basic\s+)?[^\s"'&,;<>{}\[\]]+`)

// showPart makes a part of a body fit to be printed: short, valid text, without
// what looks like a credential or a person (§14.10).
func showPart(raw []byte, limit int) string {
	text := strings.ToValidUTF8(string(raw[:min(len(raw), 4*limit)]), "?")
	text = privacy.Mask(credentials.ReplaceAllString(text, "$1$2***"))
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

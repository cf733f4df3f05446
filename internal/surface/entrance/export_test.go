package entrance

import (
	"context"
	"net/http"

	"github.com/patra-ingest/patra/internal/core/access"
)

// Address tells where who asks is, as far as it can be believed.
func Address(ctx context.Context) string { return visitOf(ctx).address }

// Forbid answers as a surface does that wants a role which the caller has not.
func Forbid(w http.ResponseWriter, r *http.Request, need access.Role) {
	refuse(http.StatusForbidden, "ROLE_NEEDED", "this needs the role "+string(need), "patra token create NAME --role "+string(need)).write(w, r)
}

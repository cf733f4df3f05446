package ingest

import "strings"

// Process describes a process that works on the queue, or asks upstreams for another
// reason.
type Process struct {
	ID, Roles, Host string
	PID             int
}

// The roles of processes that take part in the work.
const (
	RolePlanner  = "planner"  // plans by schedule, one process at a time
	RoleExecutor = "executor" // works on tasks
	RoleRelay    = "relay"    // publishes events
	RoleAlert    = "alert"    // tells people of findings, one process at a time
	RoleAPI      = "api"      // answers programs and browsers
)

// LacksRoles returns those of the wanted roles that are not among the given ones, in their
// order. Both are lists such as executor,planner.
func LacksRoles(wanted string, given ...string) (out []string) {
	have := map[string]bool{}
	for _, list := range given {
		for role := range strings.SplitSeq(list, ",") {
			have[role] = true
		}
	}
	for role := range strings.SplitSeq(wanted, ",") {
		if role != "" && !have[role] {
			out = append(out, role)
		}
	}
	return out
}

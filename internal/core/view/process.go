package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Process is one that is or was at work, as its signs of life tell.
type Process struct {
	ID         string    `json:"id"`
	Host       string    `json:"host"`
	PID        int       `json:"pid"`
	Roles      string    `json:"roles"` // such as executor,planner
	Since      time.Time `json:"since"`
	HeardAt    time.Time `json:"heardAt"`
	AliveUntil time.Time `json:"-"` // unless it gives another sign of life
}

// Lives reports whether a process is at work.
func (p Process) Lives(now time.Time) bool { return !p.AliveUntil.Before(now) }

// Has reports whether a process has a role.
func (p Process) Has(role string) bool { return slices.Contains(strings.Split(p.Roles, ","), role) }

// Gone is a process that ended without shutting down, and what waits because of that.
type Gone struct {
	Process
	Missing []string `json:"missing,omitempty"` // its roles that no process has now
	Sources []string `json:"sources,omitempty"` // whose work waits
	Tasks   int      `json:"tasks,omitempty"`   // that wait
}

// FindGone judges the processes of which signs of life are stored: which of them went
// without shutting down, and which of their roles no other process has. One that began later
// with the same roles is taken for its successor.
func FindGone(all []Process, now time.Time) (out []Gone) {
	var living []Process
	var roles []string
	for _, p := range all {
		if p.Lives(now) {
			living, roles = append(living, p), append(roles, p.Roles)
		}
	}
	for _, p := range all {
		if p.Lives(now) || slices.ContainsFunc(living, func(l Process) bool { return l.Since.After(p.HeardAt) && len(ingest.LacksRoles(p.Roles, l.Roles)) == 0 }) {
			continue
		}
		out = append(out, Gone{Process: p, Missing: ingest.LacksRoles(p.Roles, roles...)})
	}
	return out
}

// HeldPlan is an open plan that waits because the requests of its limit are used up.
type HeldPlan struct {
	ID        int64               `json:"id"`
	Partition ingest.Partition    `json:"-"`
	CursorID  int64               `json:"-"`
	Campaign  string              `json:"campaign,omitempty"` // that it is part of
	Window    window.Window       `json:"-"`                  // zero: it reads ids
	Limit     ingest.RequestLimit `json:"limit"`
	Tasks     int                 `json:"tasks"` // that wait
}

// GoesOn returns the command that goes on with the plan.
func (p HeldPlan) GoesOn() string {
	of := p.Partition
	if p.Campaign != "" {
		return fmt.Sprintf("patra backfill %s --name %s", of.Source, p.Campaign)
	}
	text := fmt.Sprintf("patra %s %s", strings.ToLower(string(of.Operation)), of.Source)
	if of.Endpoint != "" {
		text += " --endpoint " + of.Endpoint
	}
	return text
}

// IdlePlan is a plan that is ready and of which no task was ever taken.
type IdlePlan struct {
	ID        int64
	Partition ingest.Partition
	Since     time.Time // ready since
}

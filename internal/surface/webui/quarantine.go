package webui

import (
	"context"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// Quarantine tells which items were rejected, and puts them back or gives them up.
type Quarantine interface {
	// ListGroups counts items by endpoint, reason, place and state.
	ListGroups(ctx context.Context, source string, all bool) ([]view.RejectGroup, error)
	// List lists items, oldest first.
	List(ctx context.Context, f view.RejectFilter) ([]view.Reject, error)
	// QueueRejects puts items of an endpoint back, with the plan that reads them again.
	QueueRejects(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (view.Requeued, error)
	Discard(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (ingest.RejectsDone, error)
}

// groupRows reads the groups that nobody has decided about.
func (s *site) groupRows(ctx context.Context, a *ask, source string) (out []groupRow, err error) {
	groups, err := s.Work.Quarantine.ListGroups(ctx, source, false)
	for _, g := range groups {
		if !a.Caller.Sees(g.Source) || len(out) == groupsShown {
			continue
		}
		out = append(out, groupRow{g, groupPath(g, "")})
	}
	return out, err
}

// groupPath is the address of a group, or of what is done with it.
func groupPath(g view.RejectGroup, verb string) string {
	return local("/quarantine/"+g.Source+verb, "endpoint", g.Endpoint, "code", g.Reason, "path", g.Path)
}

// groupPage is one group of rejected items, from its sample to what is done about it.
type groupPage struct {
	Group    view.RejectGroup
	Puts     int64 // items that are open
	Items    part[[]view.Reject]
	Reader   bool // the caller may see ids of records
	Requeue  string
	Discard  string
	Command  string
	Returned int64 // items that are put back and not read yet
}

const itemsOfGroup = 20

// pickOfGroup reads which group is meant.
func (s *site) pickOfGroup(a *ask) (pick ingest.RejectPick, err error) {
	source, err := a.source()
	if err != nil {
		return pick, err
	}
	pick.Dataset = ingest.Dataset{Source: source, Endpoint: a.FormValue("endpoint")}
	pick.Reason, pick.Path = record.Reason(a.FormValue("code")), a.FormValue("path")
	return pick, nil
}

// showGroup answers why items are in quarantine, and what can be done.
func (s *site) showGroup(a *ask) (page, error) {
	pick, err := s.pickOfGroup(a)
	if err != nil {
		return page{}, err
	}
	groups, err := s.Work.Quarantine.ListGroups(a.Context(), pick.Dataset.Source, false)
	if err != nil {
		return page{}, err
	}
	groups = slices.DeleteFunc(groups, func(g view.RejectGroup) bool {
		return g.Endpoint != pick.Dataset.Endpoint || g.Reason != string(pick.Reason) || g.Path != pick.Path
	})
	if len(groups) == 0 {
		return page{}, fmt.Errorf("nothing of %s is in quarantine for this reason: %w", pick.Dataset.Source, errNoPage)
	}
	g := groupPage{Group: groups[0], Reader: a.Caller.May(access.Reader)}
	for _, one := range groups {
		switch one.Status {
		case string(ingest.RejectOpen):
			g.Group, g.Puts = one, one.Count
		case string(ingest.RejectRequeued):
			g.Returned = one.Count
		}
	}
	g.Requeue, g.Discard, g.Command = groupPath(g.Group, "/requeue"), groupPath(g.Group, "/discard"), "patra quarantine requeue "+groupFlags(pick)
	if g.Reader {
		g.Items = load(a, "the items", func(ctx context.Context) ([]view.Reject, error) {
			return s.Work.Quarantine.List(ctx, view.RejectFilter{Source: pick.Dataset.Source, Endpoint: pick.Dataset.Endpoint, Reason: string(pick.Reason), Path: pick.Path, Status: g.Group.Status, Limit: itemsOfGroup})
		})
	}
	title := fmt.Sprintf("%s of %s %s in quarantine: %s", countText(int(g.Group.Count), "item"), pick.Dataset.Source, wording.IsAre(g.Group.Count), g.Group.Reason)
	return page{Template: "quarantine", Title: title, Lead: g.Group.Path, Crumbs: groupWay(pick, ""), Body: g}, nil
}

func groupFlags(pick ingest.RejectPick) string {
	text := pick.Dataset.Source
	for _, f := range []fact{{"endpoint", pick.Dataset.Endpoint}, {"code", string(pick.Reason)}, {"path", pick.Path}} {
		if f.Value != "" {
			text += " --" + f.Name + " '" + f.Value + "'"
		}
	}
	return text
}

func groupWay(pick ingest.RejectPick, then string) []crumb {
	way := []crumb{{"Errors", "/errors"}, {pick.Dataset.Source, local("/errors", "source", pick.Dataset.Source)}}
	if then == "" {
		return append(way, crumb{Name: string(pick.Reason)})
	}
	return append(way, crumb{string(pick.Reason), then})
}

// requeueGroup puts the open items of a group back, to be read with the source file of today.
func (s *site) requeueGroup(a *ask) (page, error) {
	pick, err := s.pickOfGroup(a)
	if err != nil {
		return page{}, err
	}
	group := groupPath(view.RejectGroup{Source: pick.Dataset.Source, Endpoint: pick.Dataset.Endpoint, Reason: string(pick.Reason), Path: pick.Path}, "")
	p, err := perform(a, act[view.Requeued]{
		do: func(ctx context.Context, by ingest.Act) (view.Requeued, error) {
			return s.Work.Quarantine.QueueRejects(ctx, pick, by)
		},
		facts: func(d view.Requeued) []fact {
			out := []fact{{"put back", wording.Count(d.Changed, "item")}, {"left as they are", wording.Count(d.Unchanged, "item")}}
			if d.PlanID > 0 {
				out = append(out, fact{"read again by", fmt.Sprintf("plan %d", d.PlanID)})
			}
			return out
		},
		changes:  func(d view.Requeued) bool { return d.Changed > 0 },
		means:    "They are read again with the source file of today, from what was kept of them. What is good now is stored; what is rejected again is open again. `patra serve` works on it.",
		question: "Read the items of this group again?", done: "The items are read again",
		command: "patra quarantine requeue " + groupFlags(pick), button: "Read again", back: crumb{"Back to errors", "/errors"}, way: groupWay(pick, group),
	})
	return p, err
}

// discardGroup says that the items of a group are junk.
func (s *site) discardGroup(a *ask) (page, error) {
	pick, err := s.pickOfGroup(a)
	if err != nil {
		return page{}, err
	}
	group := groupPath(view.RejectGroup{Source: pick.Dataset.Source, Endpoint: pick.Dataset.Endpoint, Reason: string(pick.Reason), Path: pick.Path}, "")
	return perform(a, act[ingest.RejectsDone]{
		do: func(ctx context.Context, by ingest.Act) (ingest.RejectsDone, error) {
			return s.Work.Quarantine.Discard(ctx, pick, by)
		},
		facts: func(d ingest.RejectsDone) []fact {
			return []fact{{"discarded", wording.Count(d.Changed, "item")}, {"left as they are", wording.Count(d.Unchanged, "item")}}
		},
		changes:  func(d ingest.RejectsDone) bool { return d.Changed > 0 },
		means:    "They are not looked at again: the same item coming once more stays discarded. There is no way back.",
		question: "Discard the items of this group?", done: "The items are discarded",
		command: "patra quarantine discard " + groupFlags(pick) + " --yes", button: "Discard for good", back: crumb{"Back to errors", "/errors"}, way: groupWay(pick, group),
	})
}

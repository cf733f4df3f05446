package webui

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// fact is a name with what it is.
type fact struct{ Name, Value string }

// deed is the page of an action: what it would do, or did.
type deed struct {
	Facts   []fact
	Means   string // what comes of it
	Command string // that does the same
	Button  string
	Idle    bool // it would change nothing
	Action  string
	Mark    string
	Reason  string
	Trouble string
	Done    bool
	Back    crumb
}

// act is how an action is asked for and told.
type act[T any] struct {
	do       func(ctx context.Context, by ingest.Act) (T, error)
	facts    func(T) []fact
	changes  func(T) bool // false: there is nothing to do
	question string       // title of the preview
	done     string       // title when it is done
	means    string
	command  string
	button   string
	back     crumb
	way      []crumb
}

// perform answers with the preview of an action, or does it. What its facts say is what the
// preview is marked by: an action is done as it was shown or not at all.
func perform[T any](a *ask, what act[T]) (page, error) {
	done, err := doOrPreview(a, what.do, func(t T) any { return what.facts(t) })
	if err != nil {
		return page{}, err
	}
	d := deed{Facts: what.facts(done.Preview), Means: what.means, Command: what.command, Button: what.button, Idle: !what.changes(done.Preview),
		Action: a.URL.RequestURI(), Mark: done.Mark, Reason: done.Reason, Trouble: done.Trouble, Done: done.Done, Back: what.back}
	title := what.question
	if d.Idle {
		title = "There is nothing to do"
	}
	if done.Done {
		d.Facts, title = what.facts(done.Result), what.done
	}
	return page{Template: "deed", Title: title, Crumbs: append(what.way, crumb{Name: what.button}), Status: done.statusOf(), Body: d}, nil
}

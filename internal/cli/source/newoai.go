package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/oaipmh"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// repository are the flags of a file that is made by asking an OAI-PMH repository.
type repository struct {
	address, prefix, set    string
	bySet                   bool
	allowHTTP, allowPrivate bool
}

func (r *repository) flags(c *cobra.Command) {
	c.Flags().StringVar(&r.address, "oai", "", "ask the OAI-PMH repository at this address about itself and write its file")
	c.Flags().StringVar(&r.prefix, "prefix", "", "with --oai: the metadata format to harvest (default oai_dc)")
	c.Flags().StringVar(&r.set, "set-spec", "", "with --oai: harvest this set only")
	c.Flags().BoolVar(&r.bySet, "by-set", false, "with --oai: ask for each set separately, as partitions")
	c.Flags().BoolVar(&r.allowHTTP, "allow-http", false, "with --oai: agree to plain http, which anyone on the network path can read and change")
	c.Flags().BoolVar(&r.allowPrivate, "allow-private", false, "with --oai: agree to an address of this machine or of your own network")
}

// check refuses flags that belong to --oai without it.
func (r repository) check() error {
	if r.address == "" && (r.prefix != "" || r.set != "" || r.bySet || r.allowHTTP || r.allowPrivate) {
		return term.Usagef("--prefix, --set-spec, --by-set, --allow-http and --allow-private belong to --oai")
	}
	if r.set != "" && r.bySet {
		return term.Usagef("--set-spec takes one set and --by-set all of them: use one of the two")
	}
	return nil
}

// CreatedFromRepository is the file that was written, and what it was made of.
type CreatedFromRepository struct {
	Created
	Facts oaipmh.Facts `json:"repository"`
	Notes []string     `json:"notes"`
}

// newFromRepository asks a repository, writes its file and tries it once.
func newFromRepository(ctx context.Context, e *term.Env, name, file string, r repository) error {
	address, err := oaipmh.ParseAddress(r.address)
	if err != nil {
		return term.Usagef("--oai %s: %v", wording.Shorten(r.address, 80), err)
	}
	if strings.HasPrefix(r.address, "http:") && !r.allowHTTP && !r.allowPrivate {
		return term.Usagef("--oai %s: plain http can be read and changed by anyone on the network path: try the address with https, or agree with --allow-http (--allow-private for an address of your own network)", wording.Shorten(r.address, 80))
	}
	address.AllowHTTP, address.AllowPrivate = r.allowHTTP, r.allowPrivate
	wanted := oaipmh.Wanted{Code: name, File: file, Prefix: r.prefix, Set: r.set, BySet: r.bySet}
	if err := wanted.Check(); err != nil {
		return term.Usage(err)
	}
	if _, err := os.Lstat(file); file != "-" && err == nil {
		return existsAlready(file)
	}
	return e.WithGuard(ctx, func(g *daemon.Guard) error {
		facts, notes, err := g.AskRepository(ctx, address, name)
		if err != nil {
			return fmt.Errorf("--oai %s: %w\nno file was written", wording.Shorten(r.address, 80), explainNone(err))
		}
		if r.bySet {
			if err := facts.CheckBySet(); err != nil {
				return term.Usagef("--by-set: %v", err)
			}
		}
		text, more := oaipmh.FileFor(address, facts, wanted, time.Now().UTC())
		notes = append(notes, more...)
		src, err := checkText(file, text)
		if err != nil {
			return fmt.Errorf("the repository cannot be described by a file: %w", err)
		}
		if file == "-" {
			_, err := e.Out.Write([]byte(text))
			return errors.Join(err, hintNotes(e, notes))
		}
		if err := writeNew(file, text); err != nil {
			return err
		}
		created := CreatedFromRepository{Created{name, file}, facts, append([]string{}, notes...)}
		if err := term.PrintFacts(e, created, created.facts()); err != nil {
			return err
		}
		_ = hintNotes(e, notes)
		return tryCreated(ctx, e, g, src, file)
	})
}

func (c CreatedFromRepository) facts() []term.Fact {
	sets := wording.Count(len(c.Facts.Sets), "set")
	if c.Facts.MoreSets {
		sets += ", and more"
	}
	return []term.Fact{
		{"wrote", c.File}, {"repository", wording.OrDash(wording.Shorten(c.Facts.Name, 60))}, {"dates", wording.OrDash(c.Facts.Granularity) + ", since " + wording.OrDash(c.Facts.Earliest)},
		{"deletions", wording.OrDash(c.Facts.Deleted)}, {"formats", wording.OrDash(wording.Shorten(fmt.Sprint(c.Facts.Prefixes), 60))}, {"sets", sets},
	}
}

func hintNotes(e *term.Env, notes []string) error {
	for _, note := range notes {
		e.Hint("%s", note)
	}
	return nil
}

// explainNone says what to do where no repository was found. Where a rule about addresses
// refused, it names the flags of this command.
func explainNone(err error) error {
	var f *fault.Error
	switch {
	case daemon.IsPage(err):
		return term.Usage(err) // it says itself what to look for
	case errors.As(err, &f) && f.Code == fault.Refused:
		return fmt.Errorf("%w; here these are --allow-http and --allow-private", failedTrial(err))
	}
	return failedTrial(err)
}

// checkText reads a file that is not written yet, with all checks.
func checkText(file, text string) (*registry.Source, error) {
	src, _, err := registry.Decode(file, []byte(text))
	if err != nil {
		return nil, err
	}
	return src, subject.ProblemsError(src.Validate())
}

// tryCreated asks for one page as a harvest would. A repository that cannot be read now
// is told; its file stays.
func tryCreated(ctx context.Context, e *term.Env, g *daemon.Guard, src *registry.Source, file string) error {
	c, err := e.Installed.Compile(src, "records", ingest.Harvest, nil)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	result, err := g.Try(ctx, c, daemon.TrialRequest{Window: c.Snapshot.UsualWindow(now), Page: 1, Now: now, Attempts: 2})
	if err != nil {
		return fmt.Errorf("%s was written and is valid, but its first request failed: %w", file, failedTrial(err))
	}
	e.Hint("tried: %s of the last window came, %d rejected; `patra source test %s` shows them", wording.Count(result.Seen, "record"), result.Rejected, file)
	return judgeTrial(e, result)
}

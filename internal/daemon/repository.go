package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/oaipmh"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// AskRepository asks an OAI-PMH repository about itself, through the chain of every source:
// where requests may go is decided there. What it does not answer in a usable way is
// missing from the facts and told in the notes. An error means that there is no repository
// to write a file for.
func (g *Guard) AskRepository(ctx context.Context, a oaipmh.Address, code string) (facts oaipmh.Facts, notes []string, err error) {
	src, _, err := registry.Decode("probe", []byte(oaipmh.ProbeFor(a, code)))
	if err != nil {
		return facts, nil, fmt.Errorf("%w: the address cannot be asked: %w", fault.ErrInvalid, err)
	}
	told := answered{}
	if err := g.probe(ctx, src, oaipmh.Identify, &told); err != nil {
		if !isMalformed(err) {
			return facts, nil, fmt.Errorf("no OAI-PMH repository answers there: %w", err)
		}
		notes = append(notes, "the answer to Identify cannot be read, so nothing is known of granularity and beginning: "+err.Error())
	}
	if told.Version != "" && !strings.HasPrefix(told.Version, "2") {
		return facts, notes, fmt.Errorf("%w: the repository speaks version %s of the protocol; only 2.0 is known here", fault.ErrInvalid, told.Version)
	}
	if err := g.probe(ctx, src, oaipmh.Formats, &told); err != nil {
		notes = append(notes, "the formats could not be asked for (ListMetadataFormats): "+err.Error())
	}
	if err := g.probe(ctx, src, oaipmh.Sets, &told); err != nil && !strings.Contains(err.Error(), "noSetHierarchy") {
		notes = append(notes, "the sets could not be asked for (ListSets): "+err.Error())
	}
	return told.facts(), notes, nil
}

// isMalformed reports that something of OAI-PMH answered, in XML that cannot be read.
func isMalformed(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Code == fault.BadBody && !errors.Is(err, errNotXML) && !strings.Contains(err.Error(), "errorWhen")
}

// errNotXML says what to do about a page for people.
var errNotXML = errors.New("the address answers with a page for people (HTML): the address of the interface often ends with /oai, /oai/request, /oai2d or /index.php/index/oai")

// IsPage reports that a page for people was asked, and no repository.
func IsPage(err error) bool { return errors.Is(err, errNotXML) }

// answered holds what the questions brought, one field each.
type answered struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Earliest    string   `json:"earliest"`
	Granularity string   `json:"granularity"`
	Deleted     string   `json:"deleted"`
	Prefixes    []string `json:"prefixes"`
	Specs       []string `json:"specs"`
	Names       []string `json:"names"`
	Token       string   `json:"token"`
}

func (t answered) facts() oaipmh.Facts {
	f := oaipmh.Facts{Name: t.Name, Version: t.Version, Earliest: t.Earliest, Granularity: t.Granularity, Deleted: t.Deleted, Prefixes: t.Prefixes, MoreSets: t.Token != ""}
	for i, one := range t.Specs {
		s := oaipmh.Set{Spec: one}
		if len(t.Names) == len(t.Specs) {
			s.Name = t.Names[i]
		}
		f.Sets = append(f.Sets, s)
	}
	return f
}

// probe asks one question and adds what the answer says.
func (g *Guard) probe(ctx context.Context, src *registry.Source, endpoint string, into *answered) error {
	c, err := Compile(src, endpoint, ingest.Update, nil)
	if err != nil {
		return err
	}
	r, err := g.tryProbe(ctx, c)
	if err != nil {
		if r != nil && r.Response != nil && isPage(r.Response.Headers["Content-Type"], r.Response.Sample) {
			return fmt.Errorf("%w: %w", errNotXML, err)
		}
		return err
	}
	if len(r.Records) == 0 {
		return fault.Newf(fault.BadBody, "the answer has no responseDate, which the protocol demands")
	}
	return readLoosely(r.Records[0].Fields, into)
}

func (g *Guard) tryProbe(ctx context.Context, c *spec.Compiled) (*TrialResult, error) {
	now := time.Now().UTC()
	return g.Try(ctx, c, TrialRequest{Window: c.Snapshot.UsualWindow(now), Page: 1, Now: now, Attempts: 2})
}

// isPage reports that an answer is for people.
func isPage(kind, begins string) bool {
	begins = strings.ToLower(strings.TrimSpace(begins))
	return strings.Contains(strings.ToLower(kind), "html") || strings.HasPrefix(begins, "<!doctype html") || strings.HasPrefix(begins, "<html")
}

// readLoosely takes each field as far as it is what it should be: an element that is there
// twice, or is empty, is no reason to give up on the others.
func readLoosely(fields []byte, into *answered) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(fields, &raw); err != nil {
		return err
	}
	one := func(name string, to *string) {
		var text string
		var several []string
		if json.Unmarshal(raw[name], &text) != nil && json.Unmarshal(raw[name], &several) == nil && len(several) > 0 {
			text = several[0]
		}
		*to = cmp.Or(strings.TrimSpace(text), *to)
	}
	list := func(name string, to *[]string) {
		var text string
		if json.Unmarshal(raw[name], to) != nil && json.Unmarshal(raw[name], &text) == nil && text != "" {
			*to = []string{text}
		}
	}
	one("name", &into.Name)
	one("version", &into.Version)
	one("earliest", &into.Earliest)
	one("granularity", &into.Granularity)
	one("deleted", &into.Deleted)
	one("token", &into.Token)
	list("prefixes", &into.Prefixes)
	list("specs", &into.Specs)
	list("names", &into.Names)
	return nil
}

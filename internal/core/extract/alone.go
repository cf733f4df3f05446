package extract

import (
	"fmt"
	"sync"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/record"
)

// alone reads items that were cut out of their page.
type alone struct {
	once   sync.Once
	reader *Reader
	err    error
}

// StandsAlone reports whether an item can be read without its page: a row of CSV
// needs its header, what an element of XML means may be declared above it, the name of a
// member stands before it, and what a part carries stands around it.
func (r *Reader) StandsAlone() bool { return r.config.standsAlone() }

func (c Config) standsAlone() bool {
	return (c.Format == "" || c.Format == document.FormatJSON || c.Format == document.FormatJSONL) && !c.readsKey() && !c.reshapes()
}

// Item reads one item that was cut out of a page, as the page would be read today.
// One of both results is not nil.
func (r *Reader) Item(raw []byte, asked Asked) (*record.Incoming, *record.Reject, error) {
	if !r.StandsAlone() {
		return nil, nil, fmt.Errorf("an item of format %s cannot be read without its page", r.config.WithDefaults().Format)
	}
	r.alone.once.Do(func() { r.alone.reader, r.alone.err = Compile(r.config.itemOnly()) })
	if r.alone.err != nil {
		return nil, nil, r.alone.err
	}
	body := append(append([]byte{'['}, raw...), ']')
	page, err := r.alone.reader.Read(body, asked)
	switch {
	case err != nil:
		return nil, nil, err
	case len(page.Records) == 1 && page.Seen == 1:
		in := page.Records[0]
		in.Payload = raw
		return &in, nil, nil
	case len(page.Rejects) == 1 && page.Seen == 1:
		reject := page.Rejects[0]
		reject.Raw = raw
		return nil, &reject, nil
	}
	return nil, nil, fmt.Errorf("%d items in what was one item", page.Seen)
}

// itemOnly returns a response that is a list of items and says nothing else.
func (c Config) itemOnly() Config {
	c.Format, c.Single, c.SkipNull = document.FormatJSON, false, false
	c.Items, _ = document.ParsePath("$") // it parses
	c.Total, c.NextToken, c.NextURL, c.HasMore = Selector{}, Selector{}, Selector{}, Selector{}
	c.EmptyWhen, c.ErrorWhen, c.RetryWhen, c.GiveUpWhen, c.MustHave = nil, nil, nil, nil, nil
	return c
}

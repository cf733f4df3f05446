package extract

import (
	"errors"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
)

func judging(c *Config) {
	c.RetryWhen = pred("$.busy", "${jsonPath('$.error.code') == 'TRY_LATER'}")
	c.GiveUpWhen = pred("$.error.fatal")
	c.EmptyWhen = pred("$.nothing")
}

// §4.11: a body may say that an answer is an error, whatever its status.
func TestAGoodAnswerThatIsAnError(t *testing.T) {
	for body, want := range map[string]struct {
		code  fault.Code
		level fault.Level
		says  string
	}{
		`{"ok":1,"busy":true,"data":[]}`:                                  {fault.BadBody, fault.Transient, "retryWhen $.busy saw true"},
		`{"ok":1,"error":{"code":"TRY_LATER"},"data":[]}`:                 {fault.BadBody, fault.Transient, "retryWhen"},
		`{"ok":1,"error":{"fatal":"no such field"},"data":[]}`:            {fault.BadRequest, fault.Request, "giveUpWhen $.error.fatal"},
		`{"ok":1,"busy":true,"error":{"fatal":"no such field"},"data":1}`: {fault.BadRequest, fault.Request, "giveUpWhen"},
		// Both empty and an error is an error: an empty page would hide it.
		`{"ok":1,"nothing":true,"busy":true}`: {fault.BadBody, fault.Transient, "retryWhen"},
	} {
		_, err := compiled(t, judging).Read([]byte(body), Asked{})
		if f := fault.As(err); err == nil || f.Code != want.code || f.Level != want.level || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%s: %v", body, err)
		}
	}
	if page, err := compiled(t, judging).Read([]byte(`{"ok":1,"busy":false,"data":[{"id":"a","at":"2025-03-01"}]}`), Asked{}); err != nil || page.Seen != 1 {
		t.Errorf("a good page: %v", err)
	}
}

func TestWeigh(t *testing.T) {
	bad := errors.New("GET /works")
	xml := func(c *Config) {
		judging(c)
		c.Format, c.RetryWhen = document.FormatXML, pred("$.r.error.busy")
	}
	for name, c := range map[string]struct {
		reader *Reader
		status int
		body   string
		want   fault.Level
	}{
		"a refusal that is a throttle":     {compiled(t, judging), 403, `{"busy":true}`, fault.Transient},
		"a refusal":                        {compiled(t, judging), 403, `{"busy":false}`, fault.Fatal},
		"trouble that will not pass":       {compiled(t, judging), 500, `{"error":{"fatal":"x"}}`, fault.Request},
		"trouble":                          {compiled(t, judging), 500, `{}`, fault.Transient},
		"giving up wins":                   {compiled(t, judging), 400, `{"busy":true,"error":{"fatal":"x"}}`, fault.Request},
		"a page of a proxy":                {compiled(t, judging), 400, `<html>busy</html>`, fault.Request},
		"nothing":                          {compiled(t, judging), 400, ``, fault.Request},
		"a source that declares no bodies": {compiled(t), 400, `{"busy":true}`, fault.Request},
		"XML":                              {compiled(t, xml), 400, `<r><error><busy>1</busy></error></r>`, fault.Transient},
	} {
		f := fault.RetryPolicy{}.ClassifyStatus(c.status)
		f.Err, f.Unsent = bad, true
		got := c.reader.Weigh([]byte(c.body), f)
		if got.Level != c.want || got.Status != c.status || got.Code != f.Code || !got.Unsent || !errors.Is(got, bad) {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

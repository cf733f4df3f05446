// Package prometheus runs the real programs of Prometheus for one test: promtool, and a
// server that scrapes processes and is asked over its HTTP API.
package prometheus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/need"
)

// Tool runs promtool and returns what it says. An exit code other than 0 fails the test.
func Tool(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	said, err := TryTool(t, stdin, args...)
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, said)
	}
	return said
}

// TryTool runs promtool, which may fail.
func TryTool(t testing.TB, stdin string, args ...string) (said string, err error) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		need.Missing(t, "promtool is not installed (Debian: apt install prometheus)")
	}
	c := exec.Command(program, args...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	return string(out), err
}

// Server is a Prometheus that belongs to one test.
type Server struct {
	t       testing.TB
	address string
	output  bytes.Buffer // to be read when it has ended
	ended   chan struct{}
}

const (
	attempts = 5
	pollEach = 50 * time.Millisecond
	// scrapeEach is short, so that a test does not wait for what a person would.
	scrapeEach = "200ms"
)

// Start starts a server that scrapes these addresses under the job patra, follows files of
// rules, and ends with the test.
func Start(t testing.TB, targets, rules []string) *Server {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		need.Missing(t, "prometheus is not installed (Debian: apt install prometheus)")
	}
	folder := t.TempDir()
	config := filepath.Join(folder, "prometheus.yml")
	if err := os.WriteFile(config, configText(targets, rules), 0o600); err != nil {
		t.Fatal(err)
	}
	for range attempts {
		s := &Server{t: t}
		if err = s.launch(program, folder, config); err == nil {
			return s
		}
	}
	t.Fatalf("start prometheus: %v", err)
	return nil
}

// configText is JSON, which is YAML.
func configText(targets, rules []string) []byte {
	for i, r := range rules {
		rules[i], _ = filepath.Abs(r)
	}
	text, err := json.Marshal(map[string]any{
		"global":         map[string]any{"scrape_interval": scrapeEach, "scrape_timeout": scrapeEach, "evaluation_interval": scrapeEach},
		"rule_files":     append([]string{}, rules...),
		"scrape_configs": []any{map[string]any{"job_name": "patra", "scrape_timeout": scrapeEach, "static_configs": []any{map[string]any{"targets": targets}}}},
	})
	if err != nil {
		panic(err) // it holds only texts
	}
	return text
}

func (s *Server) launch(program, folder, config string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.address = l.Addr().String()
	_ = l.Close()
	data, err := os.MkdirTemp(folder, "data")
	if err != nil {
		return err
	}
	c := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+data, "--web.listen-address="+s.address)
	c.Stdout, c.Stderr = &s.output, &s.output
	if err := c.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func() {
		_ = c.Wait()
		close(s.ended)
	}()
	s.t.Cleanup(func() {
		_ = c.Process.Kill()
		<-s.ended
	})
	for {
		if answer, err := http.Get("http://" + s.address + "/-/ready"); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-s.ended:
			return fmt.Errorf("it ended:\n%s", s.output.String())
		case <-time.After(pollEach):
		}
	}
}

// Sample is one series of an answer, with its newest value.
type Sample struct {
	Labels map[string]string
	Value  string
}

// Query asks for the value of an expression now.
func (s *Server) Query(expression string) ([]Sample, error) {
	var answer struct {
		Data struct {
			Type   string          `json:"resultType"`
			Result json.RawMessage `json:"result"`
		} `json:"data"`
	}
	if err := s.Get("query?query="+url.QueryEscape(expression), &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", expression, err)
	}
	if answer.Data.Type == "scalar" {
		var value [2]any
		err := json.Unmarshal(answer.Data.Result, &value)
		return []Sample{{Value: fmt.Sprint(value[1])}}, err
	}
	var list []struct {
		Metric map[string]string `json:"metric"`
		Value  [2]any            `json:"value"`
	}
	if err := json.Unmarshal(answer.Data.Result, &list); err != nil {
		return nil, err
	}
	var out []Sample
	for _, one := range list {
		out = append(out, Sample{one.Metric, fmt.Sprint(one.Value[1])})
	}
	return out, nil
}

// Get asks one path of the API.
func (s *Server) Get(path string, into any) error {
	answer, err := http.Get("http://" + s.address + "/api/v1/" + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	var judged struct{ Status, Error string }
	if err := json.Unmarshal(text, &judged); err != nil {
		return err
	}
	if judged.Status != "success" {
		return errors.New(judged.Error)
	}
	return json.Unmarshal(text, into)
}

// Wait asks until an expression has a value, which it returns, or the other side has ended.
func (s *Server) Wait(expression string, ended <-chan struct{}) []Sample {
	s.t.Helper()
	for {
		got, err := s.Query(expression)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(got) > 0 {
			return got
		}
		select {
		case <-s.ended:
			s.t.Fatalf("prometheus ended:\n%s", s.output.String())
		case <-ended:
			s.t.Fatalf("whoever is scraped has ended before there was %s", expression)
		case <-time.After(pollEach):
		}
	}
}

package webui

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var token = regexp.MustCompile(`--([a-z0-9-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\);`)

// readTokens returns the colours of the stylesheet: light, dark.
func readTokens(t *testing.T) map[string][2]string {
	t.Helper()
	body, err := staticFiles.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	css, _, _ := strings.Cut(string(body), "/* elements */")
	out := map[string][2]string{}
	for _, m := range token.FindAllStringSubmatch(css, -1) {
		out[m[1]] = [2]string{m[2], m[3]}
	}
	if n := strings.Count(css, "light-dark("); n != len(out) || n < 20 {
		t.Fatalf("%d of %d colours were read", len(out), n)
	}
	rest := string(body)[len(css):]
	if found := regexp.MustCompile(`#[0-9a-f]{3,6}\b`).FindString(rest); found != "" {
		t.Errorf("colour %s stands outside of the tokens", found)
	}
	return out
}

// luminance is that of WCAG 2.
func luminance(hex string) float64 {
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseInt(hex[2*i:2*i+2], 16, 32)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Text is readable on every ground it stands on, and shapes that carry meaning stand out, in
// both themes (WCAG AA).
func TestColoursHaveContrast(t *testing.T) {
	const text, shape = 4.5, 3
	grounds := []string{"ground", "surface", "sunken"}
	soft := []string{"way-soft", "doubt-soft", "fail-soft", "cap-soft", "waived-soft"}
	rules := []struct {
		least  float64
		inks   []string
		ground []string
	}{
		{text, []string{"text", "muted", "link", "fail", "doubt-ink", "cap", "way"}, grounds},
		{text, []string{"text"}, soft},
		{text, []string{"fail", "muted"}, []string{"fail-soft"}},
		{text, []string{"doubt-ink"}, []string{"doubt-soft"}},
		{text, []string{"way", "link"}, []string{"way-soft"}},
		{text, []string{"on-state"}, []string{"done", "fail", "cap", "way"}},
		{text, []string{"surface"}, []string{"text"}},
		{shape, []string{"done", "done-2", "way", "doubt", "fail", "cap", "waived", "edge", "focus"}, []string{"surface"}},
	}
	tokens := readTokens(t)
	for _, r := range rules {
		for _, ink := range r.inks {
			for _, ground := range r.ground {
				for i, theme := range []string{"light", "dark"} {
					if c := contrast(tokens[ink][i], tokens[ground][i]); c < r.least {
						t.Errorf("%s: %s on %s has %.2f : 1, less than %.1f", theme, ink, ground, c, r.least)
					}
				}
			}
		}
	}
	if got := fmt.Sprintf("%.1f", contrast("000000", "ffffff")); got != "21.0" {
		t.Errorf("black on white has %s", got)
	}
}

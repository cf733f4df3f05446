package daemon

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

var updatePicture = flag.Bool("update", false, "make the picture of the README anew")

// TestReadmeShowsThePagesAsTheyAre makes the picture of the README, with -update, and holds that
// it is there, small and shown.
func TestReadmeShowsThePagesAsTheyAre(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "dashboard.png")
	if *updatePicture {
		p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
		b := p.showPages(t)
		b.Resize(1100, 760)
		b.Visit("/coverage/crossref/2025")
		b.Await("#content h1")
		if err := os.WriteFile(file, b.Picture(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil || !bytes.Contains(readme, []byte("](docs/dashboard.png)")) {
		t.Errorf("the README does not show it: %v", err)
	}
	picture, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(picture) > 200_000 {
		t.Errorf("it has %d bytes", len(picture))
	}
	if size, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || size.Width < 1000 {
		t.Errorf("%+v %v", size, err)
	}
}

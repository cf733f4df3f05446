package export

import (
	"testing"

	"pgregory.net/rapid"
)

// Heads find what a map finds, in whatever order they were added and are asked for.
func TestHeadsFindWhatWasAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[int64]string{}
		h := new(Heads)
		if !h.Ask() || h.Ask() {
			t.Fatal("heads are to be asked for once")
		}
		bodies := rapid.SliceOfDistinct(rapid.Int64Range(1, 60), rapid.ID).Draw(t, "bodies")
		h.Expect(rapid.IntRange(0, len(bodies)).Draw(t, "expected"))
		for _, body := range bodies {
			want[body] = rapid.StringN(0, 40, 40).Draw(t, "id")
			if !h.Add(body, body*3, []byte(want[body])) {
				t.Fatal("there is room")
			}
		}
		h.Order()
		for range 80 {
			body := rapid.Int64Range(0, 61).Draw(t, "asked")
			for range rapid.IntRange(1, 4).Draw(t, "in order") {
				id, mapping, found := h.Find(body)
				if text, there := want[body]; found != there || found && (string(id) != text || mapping != body*3) {
					t.Fatalf("version %d: %q of mapping %d, %v; want %q, %v", body, id, mapping, found, text, there)
				}
				body++
			}
		}
	})
	var none *Heads
	if _, _, found := none.Find(1); found || none.Ask() {
		t.Error("no heads have something")
	}
	if _, _, found := new(Heads).Find(1); found {
		t.Error("empty heads have something")
	}
}

func TestHeadsTakeNoMoreMemoryThanAllowed(t *testing.T) {
	h, id := new(Heads), make([]byte, 1<<20)
	added := int64(0)
	for h.Add(added, 1, id) {
		added++
	}
	if _, _, found := h.Find(0); added != mostIDBytes>>20 || found || cap(h.ids) > 0 {
		t.Errorf("%d long ids were added; found %v, %d bytes are kept", added, found, cap(h.ids))
	}
}

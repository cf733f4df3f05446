package secret

import (
	"strings"
	"testing"
)

func TestMark(t *testing.T) {
	salt := []byte("0123456789abcdef")
	key, other := New("sk-4f9c1e77aa0b4cd18e"), New("sk-4f9c1e77aa0b4cd18f")
	mark, err := Mark(salt, key)
	if err != nil {
		t.Fatal(err)
	}
	if !Marks(mark, key) || Marks(mark, other) || Marks(mark) || Marks(mark, Text{}) || Marks("", key) || Marks("zz.00", key) {
		t.Errorf("mark %s does not tell", mark)
	}
	if strings.Contains(mark, "sk-") || len(mark) > 40 {
		t.Errorf("mark %s is more than a mark", mark)
	}
	if again, _ := Mark([]byte("fedcba9876543210"), key); again == mark {
		t.Error("the salt does not count")
	}
	ab, _ := Mark(salt, New("a"), New("bc"))
	if Marks(ab, New("ab"), New("c")) {
		t.Error("two secrets and their border")
	}
}

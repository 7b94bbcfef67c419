package cart

import (
	"os"
	"testing"
)

// again tells whether this is another attempt: each one is a process of its own.
func again(t *testing.T) bool {
	file := t.Name() + ".ran"
	_, err := os.Stat(file)
	os.WriteFile(file, nil, 0o600)
	return err == nil
}

func TestPasses(t *testing.T) {}

func TestAlwaysFails(t *testing.T) {
	t.Error("1 is not 2")
}

func TestFailsThenPasses(t *testing.T) {
	if !again(t) {
		t.Error("first attempt")
	}
}

func TestPassesThenFails(t *testing.T) {
	if again(t) {
		t.Error("second attempt")
	}
}

func TestIsSkipped(t *testing.T) {
	t.Skip()
}

func TestParent(t *testing.T) {
	t.Run("same name", func(t *testing.T) {})
	t.Run("same name", func(t *testing.T) { t.Error("1 is not 2") })
}

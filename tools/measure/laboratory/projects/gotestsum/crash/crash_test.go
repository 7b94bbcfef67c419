package crash

import "testing"

func TestPasses(t *testing.T) {}

func TestCrashes(t *testing.T) {
	panic("storage is gone")
}

func TestNeverRuns(t *testing.T) {}

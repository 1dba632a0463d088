package lab_test

import (
	"flag"
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// TestMain has rapid draw 20 random racks for each property instead of its 100, unless slow tests
// run or -rapid.checks says otherwise.
func TestMain(m *testing.M) {
	if !slowtest.Enabled() {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			panic(err) // a flag of rapid
		}
	}
	m.Run()
}

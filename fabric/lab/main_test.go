package lab_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// TestMain has rapid draw 20 random racks for each property instead of its 100, unless slow tests
// run or -rapid.checks says otherwise.
func TestMain(m *testing.M) {
	if !slowtest.Enabled() {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	m.Run()
}

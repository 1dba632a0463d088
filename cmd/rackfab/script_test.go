package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rackfab": main})
}

// The scripts use the command line as users type it. $TRACES is a folder of binary traces.
func TestScripts(t *testing.T) {
	traces, err := filepath.Abs("../../imports/testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: "testdata", Setup: func(e *testscript.Env) error {
		e.Setenv("TRACES", traces)
		return nil
	}})
}

package main

import (
	"io"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/fabric/topology"
)

// The names below are those that this package used before its parts became packages of
// their own.

type parting = cli.SignalError

func createFile(path string, write func(io.Writer) error) error { return cli.CreateFile(path, write) }

func severalFiles(flag, name string) error { return cli.WantFolder(flag, name) }

func version() string { return cli.Version() }

func build() (string, error) { return cli.Build() }

func scenarioName(args []string) string { return load.Name(args) }

func scenarioFile(name string) ([]byte, error) { return load.File(name) }

func schemeNames(list string, compare []string) []string { return load.Schemes(list, compare) }

func warn(w io.Writer, scenarios ...*topology.Scenario) error { return load.Warn(w, scenarios...) }

func writeWarnings(w io.Writer, list []topology.Fault) error { return load.WriteWarnings(w, list) }

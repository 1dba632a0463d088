package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// captureLive captures the running rack.
func captureLive(_ *cobra.Command, _ captureFlags, _ captureOptions) error {
	return errors.New("which run: name a scenario, or the journal of a live run")
}

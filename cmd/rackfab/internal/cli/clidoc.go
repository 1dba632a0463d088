// Package cli holds what all commands share: output files, tables, progress, values of
// flags, exit status and version. It knows no rack.
package cli

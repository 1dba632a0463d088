// Package telemetry holds the flags that control the export of telemetry, and sums up
// what was exported. It knows no collector.
package telemetry

// Package live holds the commands that start, watch, change and end a rack that runs
// until it is stopped.
package live

// Package spawn starts this program in other roles as child processes, and is the child's
// side of that. No child outlives its parent, however the parent ends. It knows command
// lines, secrets and logs; it does not know what the processes do.
//
// A child writes one line of JSON to its standard output once it serves (name, address,
// pid), reads its secrets from its standard input, and ends when its standard input does
// (Child).
package spawn

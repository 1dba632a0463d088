package serve

import (
	"encoding/json"
	"io"
	"os"
)

// Ready is what a process says about itself, as one line of JSON, once it
// answers at its address.
type Ready struct {
	Name    string `json:"name"`
	Address string `json:"address"` // "host:port", of the bus its URL
	PID     int    `json:"pid"`
}

// Announce writes the line to w; a nil w takes nothing.
func Announce(w io.Writer, name, address string) error {
	if w == nil {
		return nil
	}
	return json.NewEncoder(w).Encode(Ready{Name: name, Address: address, PID: os.Getpid()})
}

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
	Address string `json:"address"`        // "host:port", of the bus its URL
	Page    string `json:"page,omitempty"` // "host:port" of what it shows to browsers
	PID     int    `json:"pid"`
}

// Announce writes the line to w, with the PID of this process; a nil w takes nothing.
func Announce(w io.Writer, r Ready) error {
	if w == nil {
		return nil
	}
	r.PID = os.Getpid()
	return json.NewEncoder(w).Encode(r)
}

package serve

import (
	"encoding/json"
	"io"
	"os"
)

// Ready is the announcement that a process writes, as one line of JSON, once it
// serves at its address.
type Ready struct {
	Name    string `json:"name"`
	Address string `json:"address"`        // "host:port"; for the bus, its URL
	Page    string `json:"page,omitempty"` // "host:port" of its web page
	// OTLPHTTP is the "host:port" at which it receives OTLP over HTTP.
	OTLPHTTP string `json:"otlp_http,omitempty"`
	Metrics  string `json:"metrics,omitempty"` // "host:port" of its metrics for Prometheus
	PID      int    `json:"pid"`
}

// Announce writes the line to w, with the PID of this process. If w is nil, it writes
// nothing.
func Announce(w io.Writer, r Ready) error {
	if w == nil {
		return nil
	}
	r.PID = os.Getpid()
	return json.NewEncoder(w).Encode(r)
}

package health

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// The failure of an endpoint is logged immediately.
func TestFailureOfTheEndpointIsLogged(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	answer(t.Context(), l, http.NotFoundHandler())
	if line := log.String(); !strings.Contains(line, "metrics are no longer served") || !strings.Contains(line, l.Addr().String()) {
		t.Errorf("logged %q", line)
	}
}

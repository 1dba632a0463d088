package serve

import (
	"log/slog"
	"net/http"
	"time"
)

// Limits of HTTP servers, in wall time.
const (
	headerLimit = 10 * time.Second // for the header of a request, and TLS before it
	restLimit   = time.Minute      // of a connection between requests
)

// HTTP returns a server of HTTP with the limits that all of a rack have. Failed
// connections, of which strangers can cause any number, are logged at level debug only. A
// caller adds the limits of its bodies and answers.
func HTTP(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerLimit, IdleTimeout: restLimit, MaxHeaderBytes: MaxHeader,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
}

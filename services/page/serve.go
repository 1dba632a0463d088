package page

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/rackfab/rackfab/services/internal/serve"
)

// Limits of a page's server.
const (
	bodyLimit   = time.Minute     // for a request with its body
	answerLimit = 2 * callLimit   // for a request until its answer is sent; streams have writeLimit
	stopLimit   = 2 * time.Second // for calls still open at the stop
)

// Serve serves h, a Page or a substitute, at l until ctx ends. It then closes the page
// and gives open calls two seconds to end before it cuts them off. It returns nil after
// a stop by ctx.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := serve.HTTP(h)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(serve.Limited(l)) }() // the caller may have opened it
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	if p, ok := h.(*Page); ok {
		p.Close() // ends the streams, which Shutdown waits for
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if server.Shutdown(limit) != nil {
		return errors.Join(err, server.Close())
	}
	return err
}

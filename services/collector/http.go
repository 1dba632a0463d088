package collector

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// ListenHTTP is the default address for clients of OTLP over HTTP.
const ListenHTTP = "127.0.0.1:4318"

// Limits of the server of OTLP over HTTP, in wall time.
const (
	requestLimit = 30 * time.Second // for a request with its body
	haltLimit    = 2 * time.Second  // for calls still open at the stop
)

// serveHTTP serves OTLP over HTTP at o.OTLPHTTP, with TLS as the gRPC server has, until
// stop is called. stop waits for the open calls. An empty address disables the server.
func (o Options) serveHTTP(c *collector) (address string, stop func(), err error) {
	if o.OTLPHTTP == "" {
		return "", func() {}, nil
	}
	l, err := serve.Open(o.OTLPHTTP, o.AnyPort)
	if err != nil {
		return "", nil, fmt.Errorf("listen for OTLP over HTTP at %s: %w", o.OTLPHTTP, err)
	}
	address = l.Addr().String()
	if o.TLS != nil {
		l = tls.NewListener(l, o.TLS.Server())
	}
	server := serve.HTTP(c.overHTTP())
	server.ReadTimeout, server.WriteTimeout = requestLimit, 2*requestLimit
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("OTLP over HTTP is no longer served", "address", address, "error", err)
		}
	}()
	return address, func() {
		limit, cancel := context.WithTimeout(context.Background(), haltLimit)
		defer cancel()
		if server.Shutdown(limit) != nil {
			_ = server.Close() // cuts off calls that do not end
		}
	}, nil
}

// overHTTP returns the handler of OTLP over HTTP. It has a path per signal that the gRPC
// server receives.
func (c *collector) overHTTP() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/traces", receive(&c.bodies, traceReceiver{collector: c}.Export))
	mux.HandleFunc("/v1/metrics", receive(&c.bodies, metricsReceiver{collector: c}.Export))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, encodingOf(r), http.StatusNotFound, status.New(codes.Unimplemented, r.URL.Path+": want /v1/traces or /v1/metrics"))
	})
	return mux
}

// requestOf is a request of OTLP, as a pointer to Q.
type requestOf[Q any] interface {
	*Q
	proto.Message
}

// receive returns a handler that passes requests to the Export of gRPC and returns its
// answer in the encoding of the request. bodies has the bytes of all bodies.
func receive[Q any, P requestOf[Q], A proto.Message](bodies *atomic.Int64, export func(context.Context, P) (A, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e := encodingOf(r)
		switch {
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			refuse(w, e, http.StatusMethodNotAllowed, status.New(codes.Unimplemented, r.Method+": want POST"))
			return
		case e == nil:
			refuse(w, e, http.StatusUnsupportedMediaType, status.Newf(codes.InvalidArgument, "Content-Type %q: want %s or %s", r.Header.Get("Content-Type"), inProtobuf.name, inJSON.name))
			return
		}
		reserved := memory{all: bodies}
		defer reserved.release()
		body, code, err := readBody(w, r, &reserved)
		switch {
		case errors.Is(err, errBusy):
			refuseExport(w, e, status.Error(codes.ResourceExhausted, err.Error()))
			return
		case err != nil:
			refuse(w, e, code, status.New(codes.InvalidArgument, err.Error()))
			return
		}
		q := P(new(Q))
		if err := e.check(body, q); err != nil {
			refuse(w, e, http.StatusRequestEntityTooLarge, status.New(codes.ResourceExhausted, err.Error()))
			return
		}
		if err := e.read(body, q); err != nil {
			refuse(w, e, http.StatusBadRequest, status.New(codes.InvalidArgument, err.Error()))
			return
		}
		out, err := export(withSize(r.Context(), int64(len(body))), q)
		if err != nil {
			refuseExport(w, e, err)
			return
		}
		send(w, e, http.StatusOK, out)
	}
}

// refuseExport sends the error of an export. Clients retry 429 and 503.
func refuseExport(w http.ResponseWriter, e *encoding, err error) {
	code := http.StatusInternalServerError
	switch status.Code(err) {
	case codes.ResourceExhausted:
		code = http.StatusTooManyRequests
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		code = http.StatusServiceUnavailable
	default: // not from the queue or the store
	}
	if code != http.StatusInternalServerError {
		after, _ := telemetry.Retry(err)
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int((after+time.Second-1)/time.Second))))
	}
	refuse(w, e, code, status.Convert(err))
}

// refuse sends an error as a google.rpc.Status, in protobuf if the encoding of the request
// is unknown.
func refuse(w http.ResponseWriter, e *encoding, code int, s *status.Status) {
	if e == nil {
		e = inProtobuf
	}
	send(w, e, code, s.Proto())
}

func send(w http.ResponseWriter, e *encoding, code int, m proto.Message) {
	body, err := e.write(m)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", e.name)
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client may have disconnected
}

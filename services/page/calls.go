package page

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/services/internal/serve"
)

// Limits of a call: request size in bytes, and duration.
const (
	maxCall   = 1 << 20
	callLimit = time.Minute
)

// call performs one gRPC call with JSON input and output, in protobuf's JSON mapping.
type call func(ctx context.Context, in []byte) ([]byte, error)

// addCalls registers the calls open to the page: those that inspect a rack, those that
// control a live rack, and those of the collector.
func (p *Page) addCalls() {
	if f := p.options.Fabric; f != nil {
		p.calls["GetTopology"] = unary(f.GetTopology)
		p.calls["GetStatus"] = unary(f.GetStatus)
		p.calls["GetStats"] = unary(f.GetStats)
		p.calls["GetJournal"] = unary(f.GetJournal)
		p.calls["Pause"] = unary(f.Pause)
		p.calls["Resume"] = unary(f.Resume)
		p.calls["Step"] = unary(f.Step)
		p.calls["SetPace"] = unary(f.SetPace)
		p.calls["Apply"] = unary(f.Apply)
	}
	if c := p.options.Collector; c != nil {
		p.calls["ListRuns"] = unary(c.ListRuns)
		p.calls["ListTraces"] = unary(c.ListTraces)
		p.calls["GetTrace"] = unary(c.GetTrace)
		p.calls["GetPercentiles"] = unary(c.GetPercentiles)
		p.calls["ListSeries"] = unary(c.ListSeries)
		p.calls["QuerySeries"] = unary(c.QuerySeries)
		p.calls["GetCounters"] = unary(c.GetCounters)
	}
}

// unary returns a call of a unary gRPC method.
func unary[Q, A proto.Message](method func(context.Context, Q, ...grpc.CallOption) (A, error)) call {
	return func(ctx context.Context, in []byte) ([]byte, error) {
		var none Q
		q, _ := none.ProtoReflect().New().Interface().(Q) // a message creates messages of its own type
		if err := protojson.Unmarshal(in, q); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		out, err := method(ctx, q)
		if err != nil {
			return nil, err
		}
		return protojson.Marshal(out)
	}
}

// call performs the call named in the path.
func (p *Page) call(w http.ResponseWriter, r *http.Request) {
	made := p.calls[r.PathValue("method")]
	if made == nil {
		sendError(w, http.StatusNotFound, "no call "+r.PathValue("method")+": it does not exist, or this page has no controller or no collector")
		return
	}
	in, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCall))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		sendError(w, http.StatusRequestEntityTooLarge, "a call may have at most 1 MiB")
		return
	case err != nil:
		sendError(w, http.StatusBadRequest, "read the call: "+err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callLimit)
	defer cancel()
	out, err := made(ctx, in)
	if err != nil {
		fail(w, err)
		return
	}
	send(w, http.StatusOK, out)
}

// statuses maps gRPC codes to HTTP statuses, as google.rpc.Code does.
var statuses = map[codes.Code]int{
	codes.InvalidArgument: 400, codes.FailedPrecondition: 400, codes.OutOfRange: 400, codes.Unauthenticated: 401, codes.PermissionDenied: 403,
	codes.NotFound: 404, codes.AlreadyExists: 409, codes.Aborted: 409, codes.ResourceExhausted: 429, codes.Canceled: 499,
	codes.Unimplemented: 501, codes.Unavailable: 503, codes.DeadlineExceeded: 504,
}

// fail responds with the error of a call: its code, its message, and the invalid fields.
func fail(w http.ResponseWriter, err error) {
	s := status.Convert(err)
	code, known := statuses[s.Code()]
	if !known {
		code = http.StatusInternalServerError
	}
	send(w, code, map[string]any{"code": s.Code().String(), "message": s.Message(), "fields": serve.Violations(err)})
}

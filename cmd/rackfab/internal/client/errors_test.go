package client

import (
	"errors"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Only a call that reached no server is reported as unreached. An error from the server
// itself is passed on unchanged.
func TestUnreached(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("connection error: desc = of something else"), ""},
		{status.Error(codes.Unavailable, "the journal cannot be written"), ""},
		{status.Error(codes.Unavailable, "error reading from server: EOF"), ""}, // the server was reached
		{status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: refused"`), "dial tcp 127.0.0.1:1: refused"},
		{status.Error(codes.Unavailable, `connection error: desc = "error reading server preface: http2: frame too large"`), "the server does not speak gRPC"},
		{status.Error(codes.Unavailable, "name resolver error: produced zero addresses"), "no such host"},
	} {
		if got := unreached(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}

// A refused change is reported by its fields, any other refusal by its message.
func TestPlain(t *testing.T) {
	bad := &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
		{Field: "change.burst.from", Description: "no node is called h99"}, {Field: "change.burst.to", Description: "h2 would send to itself"},
	}}
	detailed, err := status.New(codes.InvalidArgument, "change: a and b").WithDetails(bad)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{detailed.Err(), "burst.from: no node is called h99\nburst.to: h2 would send to itself"},
		{status.Error(codes.InvalidArgument, "every_ms: too often"), "every_ms: too often"},
		{errors.New("no call at all"), "no call at all"},
	} {
		if got := Reword(tt.err); got.Error() != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}

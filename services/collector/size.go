package collector

import (
	"context"

	"google.golang.org/grpc/stats"
)

// sizes notes for every call how many bytes its request has, unpacked: gRPC knows,
// and to count them once more takes a tenth as long as to store them.
type sizes struct{}

type sizeKey struct{}

// TagRPC makes room for the size of a call's request.
func (sizes) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, sizeKey{}, new(int64))
}

// HandleRPC notes the size before the call is handled, in the same goroutine.
func (sizes) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InPayload); ok {
		*ctx.Value(sizeKey{}).(*int64) += int64(in.Length)
	}
}

// TagConn does nothing.
func (sizes) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (sizes) HandleConn(context.Context, stats.ConnStats) {}

// sizeOf gives the bytes of the request of a call.
func sizeOf(ctx context.Context) int64 { return *ctx.Value(sizeKey{}).(*int64) }

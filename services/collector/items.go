package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcencoding "google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Limits of the structure of a request, which is checked before the request is decoded. An
// empty span has 2 bytes on the wire and 300 in memory, so that a request of MaxMessage
// could take 2.4 GB, and have 30 KB if it is compressed. Those of rackfab and of the SDKs
// have a message per 20 to 30 bytes, and at most some 4,000 spans or points.
const (
	maxItems = 1 << 19 // messages in a request: spans, points, attributes, values and so on
	maxDepth = 64      // of messages in each other; spans with attributes have 7
)

var errItems = errors.New("the request has too many messages in it")

// checkItems returns an error if a request has more than maxItems messages in it, or some
// deeper than maxDepth. It reports no other fault.
func checkItems(data []byte, m proto.Message) error {
	if countItems(data, m.ProtoReflect().Descriptor(), maxDepth, maxItems) < 0 {
		return fmt.Errorf("%w: want at most %d, and %d in each other", errItems, maxItems, maxDepth)
	}
	return nil
}

// countItems subtracts the number of messages in the encoding of a message from left. The
// result is below 0 if there are more, or if they are deeper than depth.
func countItems(b []byte, d protoreflect.MessageDescriptor, depth, left int) int {
	if depth == 0 {
		return -1
	}
	for len(b) > 0 && left >= 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return left // decoding reports it
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return left
		}
		if kind == protowire.BytesType {
			if f := d.Fields().ByNumber(number); f != nil && f.Message() != nil {
				inner, _ := protowire.ConsumeBytes(b)
				left = countItems(inner, f.Message(), depth-1, left-1)
			}
		}
		b = b[n:]
	}
	return left
}

// checkText is checkItems for JSON, of which each value follows one of three characters.
// Each becomes about 50 bytes before it is a message.
func checkText(text []byte, _ proto.Message) error {
	values := 0
	for _, mark := range []string{",", "[", "{"} {
		values += bytes.Count(text, []byte(mark))
	}
	if values > 4*maxItems {
		return fmt.Errorf("%w: want at most %d values", errItems, 4*maxItems)
	}
	return nil
}

// careful is gRPC's codec of protobuf, with checkItems.
type careful struct{ grpcencoding.CodecV2 }

func newCodec() careful { return careful{grpcencoding.GetCodecV2(protocodec.Name)} }

// checked is a request of which the codec keeps the error of checkItems: gRPC gives an
// error of a codec the code INTERNAL.
type checked struct {
	proto.Message
	err error
}

// Unmarshal decodes a request.
func (c careful) Unmarshal(data mem.BufferSlice, v any) error {
	q, ok := v.(*checked)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	if q.err = checkItems(whole.ReadOnlyData(), q.Message); q.err != nil {
		return nil
	}
	return proto.Unmarshal(whole.ReadOnlyData(), q.Message)
}

// limited registers services whose unary calls are refused with RESOURCE_EXHAUSTED if
// checkItems refuses the request. Their server must have the codec careful.
type limited struct{ grpc.ServiceRegistrar }

// RegisterService registers a service.
func (r limited) RegisterService(d *grpc.ServiceDesc, service any) {
	mine := *d
	mine.Methods = slices.Clone(d.Methods)
	for i := range mine.Methods {
		handle := mine.Methods[i].Handler
		mine.Methods[i].Handler = func(srv any, ctx context.Context, decode func(any) error, in grpc.UnaryServerInterceptor) (any, error) {
			return handle(srv, ctx, func(m any) error { return decodeChecked(m, decode) }, in)
		}
	}
	r.ServiceRegistrar.RegisterService(&mine, service)
}

func decodeChecked(m any, decode func(any) error) error {
	q := checked{Message: m.(proto.Message)}
	if err := decode(&q); err != nil {
		return err
	}
	if q.err != nil {
		return status.Error(codes.ResourceExhausted, q.err.Error())
	}
	return nil
}

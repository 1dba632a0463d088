package controller

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/bus"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/discovery"
)

// Requests of any bytes, to each unary method of FabricService, have an answer or an error with
// a known code.
func FuzzCalls(f *testing.F) {
	seed := func(method uint8, m proto.Message) {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(method, data)
	}
	for i, m := range rackfabv1.FabricService_ServiceDesc.Methods {
		switch m.MethodName {
		case "StartRack":
			seed(uint8(i), &rackfabv1.StartRackRequest{RunId: "a", Scenario: []byte(pair)})
		case "Apply":
			seed(uint8(i), &rackfabv1.ApplyRequest{Change: &rackfabv1.Change{Verb: &rackfabv1.Change_Burst{Burst: &rackfabv1.Burst{From: "h0", To: "h1", Volume: &rackfabv1.Burst_SizeBytes{SizeBytes: 1}}}}})
		default:
			f.Add(uint8(i), []byte(nil))
		}
	}
	directory, err := discovery.Watch(bus.NewMemory().Dial(), rackName)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method uint8, data []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := &service{ctx: ctx, options: Options{NodeLimit: time.Nanosecond, Rack: rackName}, directory: directory, turn: make(chan struct{}, 1)}
		methods := rackfabv1.FabricService_ServiceDesc.Methods
		_, err := methods[int(method)%len(methods)].Handler(s, ctx, func(q any) error { return proto.Unmarshal(data, q.(proto.Message)) }, nil)
		if code := status.Code(err); code == codes.Internal || code == codes.DeadlineExceeded {
			t.Errorf("method %d: %v", method, err)
		}
		if len(s.turn) != 0 {
			t.Errorf("method %d: the turn of a run is lost: %v", method, err)
		}
	})
}

// The first lines of a journal of any bytes are read without a crash.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(digestLine, 7) + "\n" + stateLine + "{\"run_id\":\"a\",\"at_ps\":5}\n" + pair))
	f.Add([]byte(unstepped + "\n" + stateLine + "{}\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = ReadDigest(data)
		_ = Unstepped(data)
		now, left, err := readState(data)
		if left && err == nil && bytes.Count(data, []byte("\n")) > 2 {
			s := &service{options: Options{Rack: rackName}}
			_, _ = s.left(data, now)
		}
	})
}

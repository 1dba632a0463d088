package e2e

import (
	"context"
	"math"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// badValues are values of each kind of field that some request refuses.
func badValues(fd protoreflect.FieldDescriptor) []protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return []protoreflect.Value{protoreflect.ValueOfString("no such ="), protoreflect.ValueOfString("h9..h0")}
	case protoreflect.BytesKind:
		return []protoreflect.Value{protoreflect.ValueOfBytes([]byte("name: x"))}
	case protoreflect.Int32Kind:
		return []protoreflect.Value{protoreflect.ValueOfInt32(-1), protoreflect.ValueOfInt32(math.MaxInt32)}
	case protoreflect.Int64Kind:
		return []protoreflect.Value{protoreflect.ValueOfInt64(-1), protoreflect.ValueOfInt64(math.MaxInt64)}
	case protoreflect.Uint32Kind:
		return []protoreflect.Value{protoreflect.ValueOfUint32(math.MaxUint32)}
	case protoreflect.DoubleKind:
		return []protoreflect.Value{protoreflect.ValueOfFloat64(-1), protoreflect.ValueOfFloat64(math.NaN())}
	case protoreflect.EnumKind:
		return []protoreflect.Value{protoreflect.ValueOfEnum(99)}
	default:
		return nil
	}
}

// spoil calls f with m for each of its fields, also those of the messages in it, and each
// bad value there.
func spoil(m protoreflect.Message, depth int, f func()) {
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		before, had := m.Get(fd), m.Has(fd)
		switch {
		case fd.IsMap() || depth == 0:
		case fd.IsList() && fd.Message() != nil:
			spoil(m.Mutable(fd).List().AppendMutable().Message(), depth-1, f)
		case fd.IsList():
			for _, v := range badValues(fd) {
				m.Clear(fd)
				m.Mutable(fd).List().Append(v)
				f()
			}
		case fd.Message() != nil:
			spoil(m.Mutable(fd).Message(), depth-1, f)
		default:
			for _, v := range badValues(fd) {
				m.Set(fd, v)
				f()
			}
		}
		if m.Clear(fd); had && fd.Message() == nil {
			m.Set(fd, before)
		}
	}
}

var pathStep = regexp.MustCompile(`^([a-z0-9_]+)(\[\d+\])?$`)

// names reports whether a path of names, as the protobuf has them, leads to a field of a
// message. The keys of a scenario file follow the field scenario.
func names(path string, d protoreflect.MessageDescriptor) bool {
	steps := strings.Split(path, ".")
	for i, step := range steps {
		parts := pathStep.FindStringSubmatch(step)
		if d == nil || parts == nil {
			return false
		}
		fd := d.Fields().ByName(protoreflect.Name(parts[1]))
		if fd == nil || parts[2] != "" && !fd.IsList() {
			return false
		}
		if fd.Kind() == protoreflect.BytesKind && parts[1] == "scenario" {
			return true
		}
		if d = fd.Message(); d == nil && i < len(steps)-1 {
			return false
		}
	}
	return true
}

// Every violation of every call of the rack's services names a field of the request, by
// its name in the protobuf.
func TestViolationsNameFieldsOfTheRequest(t *testing.T) {
	r := up(t, "star-2", "--paused")
	r.do(t, "step", "10us")
	nodes, err := r.client.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := map[string]string{"FabricService": r.address, "CollectorService": r.collector}
	for _, n := range nodes {
		service := map[rackfabv1.NodeKind]string{rackfabv1.NodeKind_NODE_KIND_NIC: "NicService", rackfabv1.NodeKind_NODE_KIND_SWITCH: "SwitchService"}[n.GetKind()]
		address[service] = n.GetAddress()
		address["NodeService"] = n.GetAddress()
	}
	worked := map[string]int{} // violations by service
	check := func(service protoreflect.ServiceDescriptor) {
		conn, err := grpc.NewClient(address[string(service.Name())], grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			if method.Name() == "Follow" { // accepts every selection, and responds only to new data
				continue
			}
			base := dynamicpb.NewMessage(method.Input())
			spoil(base, 5, func() {
				for _, d := range status.Convert(call(t, conn, method, base)).Details() {
					bad, _ := d.(*errdetails.BadRequest)
					for _, v := range bad.GetFieldViolations() {
						worked[string(service.Name())]++
						if !names(v.GetField(), method.Input()) {
							t.Errorf("%s: %s names %q, which is no field: %s", method.FullName(), base, v.GetField(), v.GetDescription())
						}
					}
				}
			})
		}
	}
	var last protoreflect.ServiceDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("rackfab.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			switch s := file.Services().Get(i); s.Name() {
			case "NodeService":
				last = s
			case "WorkerService": // the rack has no worker
			default:
				check(s)
			}
		}
		return true
	})
	r.do(t, "down") // a node in a run takes part in no other
	check(last)
	for service := range address {
		if worked[service] == 0 {
			t.Errorf("no request to %s was refused", service)
		}
	}
	t.Log(worked)
	r.interrupt(t)
}

// call makes a call and returns its error, of a stream after the first response.
func call(t *testing.T, conn *grpc.ClientConn, method protoreflect.MethodDescriptor, q proto.Message) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	path := "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
	out := dynamicpb.NewMessage(method.Output())
	if !method.IsStreamingClient() && !method.IsStreamingServer() {
		return conn.Invoke(ctx, path, q, out)
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, path)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(q); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return stream.RecvMsg(out)
}

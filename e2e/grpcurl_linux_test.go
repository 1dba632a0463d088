package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// grpcurl returns a function that calls a rack and knows only what reflection provides.
func (r *rack) grpcurl(t *testing.T) func(args ...string) string {
	t.Helper()
	client := tool(t, "grpcurl", "RACKFAB_GRPCURL")
	return func(args ...string) string {
		t.Helper()
		return must(t, exec.Command(client, append([]string{"-plaintext"}, args...)...))
	}
}

// A client without the .proto files lists the services, reads their request types,
// injects a burst into a running rack, and reads statistics.
func TestGrpcurlByReflection(t *testing.T) {
	r := up(t, "pcn-16to2", "--scheme", "pcn", "--paused")
	call := r.grpcurl(t)
	services := call(r.address, "list")
	for _, want := range []string{"rackfab.v1.FabricService", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"} {
		if !strings.Contains(services, want) {
			t.Errorf("services without %s:\n%s", want, services)
		}
	}
	methods := call(r.address, "list", "rackfab.v1.FabricService")
	for _, want := range []string{"Apply", "GetStats", "ImpairBus", "Watch"} {
		if !strings.Contains(methods, "rackfab.v1.FabricService."+want) {
			t.Errorf("methods without %s:\n%s", want, methods)
		}
	}
	if burst := call(r.address, "describe", "rackfab.v1.Burst"); !strings.Contains(burst, "int64 size_bytes = 5;") {
		t.Errorf("describe: %s", burst)
	}
	if health := call(r.address, "grpc.health.v1.Health/Check"); !strings.Contains(health, "SERVING") {
		t.Errorf("health: %s", health)
	}
	const fabric = "rackfab.v1.FabricService/"
	said := call("-d", `{"change": {"burst": {"name": "incast", "from": "h2..h15", "to": "r1", "flows_per_sender": 2, "size_bytes": 64000}}, "at_ps": 10000000}`,
		r.address, fabric+"Apply")
	if !strings.Contains(said, `"atPs": "10000000"`) {
		t.Errorf("the burst: %s", said)
	}
	call("-d", `{"span_ps": 500000000}`, r.address, fabric+"Step")
	var stats struct {
		Nodes []struct {
			Node           string
			DeliveredBytes int64 `json:",string"`
			FlowsStarted   int64 `json:",string"`
		}
	}
	if err := json.Unmarshal([]byte(call("-d", `{"nodes": "r1, h2"}`, r.address, fabric+"GetStats")), &stats); err != nil {
		t.Fatal(err)
	}
	if len(stats.Nodes) != 2 || stats.Nodes[0].FlowsStarted < 2 || stats.Nodes[1].DeliveredBytes == 0 {
		t.Errorf("h2 and r1 after the burst: %+v", stats)
	}
	list := children(t, r.Process.Pid)
	r.interrupt(t)
	awaitExit(t, list)
}

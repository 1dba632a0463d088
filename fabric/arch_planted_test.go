package fabric_test

import (
	"path"
	"strconv"
	"strings"
	"testing"
)

// TestPlantedViolationIsCaught runs the checker on files that break each rule, and on
// files that obey it.
func TestPlantedViolationIsCaught(t *testing.T) {
	const ours = modulePath + "/"
	tests := []struct {
		file, imports, body string
		want                string // part of the only message; "" for none
	}{
		{"fabric/nic/x.go", "time", "", "no clock"},
		{"fabric/nic/x.go", "os", "", "no I/O"},
		{"fabric/nic/x.go", "os/exec", "", "pure standard packages only"},
		{"fabric/nic/x.go", "net", "", "no network"},
		{"fabric/nic/x.go", "sync", "", "no lock"},
		{"fabric/nic/x.go", "context", "", "never waits"},
		{"fabric/nic/x.go", "log", "", "does not log"},
		{"fabric/nic/x.go", "runtime", "", "depend on its host"},
		{"fabric/nic/x.go", "unsafe", "", "memory layout"},
		{"fabric/nic/x.go", "math/rand", "", "seeded source"},
		{"fabric/nic/x.go", "hash/maphash", "", "differs between processes"},
		{"fabric/nic/x.go", "C", "", "pure standard packages only"},
		{"fabric/nic/x.go", "encoding/binary", "", ""},
		{"fabric/nic/x.go", "net/netip", "", ""},
		{"fabric/nic/x.go", "net/http", "", "pure standard packages only"},
		{"fabric/nic/x_test.go", "time", "", ""},
		{"fabric/nic/x.go", "", "func f() { go f() }", "starts a goroutine"},
		{"fabric/nic/x.go", "", "var c chan int", "uses a channel"},
		{"fabric/nic/x.go", "", "func f() { select {} }", "uses a channel"},
		{"fabric/nic/x_test.go", "", "func f() { go f() }", ""},
		{"fabric/nic/x.go", "math/rand/v2", "var v = rand.IntN(6)", "global random source"},
		{"fabric/nic/x.go", "math/rand/v2", "var v = rand.New(rand.NewPCG(1, 2))", ""},
		{"fabric/nic/x.go", "fmt", "func f() { fmt.Println() }", "prints"},
		{"fabric/nic/x.go", "fmt", "var v = fmt.Sprint(1)", ""},
		{"fabric/nic/x.go", "github.com/cespare/xxhash/v2", "", "import no other module than"},
		{"fabric/node/x.go", "github.com/cespare/xxhash/v2", "", ""},
		{"fabric/scenariofile/x.go", "go.yaml.in/yaml/v3", "", ""},
		{"fabric/scenariofile/x.go", "go.yaml.in/yaml/v4", "", "import no other module than"},
		{"fabric/cc/x_test.go", "pgregory.net/rapid", "", ""},
		{"fabric/cc/x_test.go", "google.golang.org/grpc", "", "import no other module than"},
		{"fabric/unit/x.go", ours + "fabric", "", "no other package of this module"},
		{"fabric/cc/x.go", ours + "fabric/frame", "", "takes numbers"},
		{"fabric/x.go", ours + "fabric/cc", "", "the interfaces of package fabric"},
		{"fabric/nic/x.go", ours + "fabric/switching", "", "knows no switch"},
		{"fabric/switching/x.go", ours + "fabric/topology", "", "no topology"},
		{"fabric/topology/x.go", ours + "fabric/nic", "", "nor the machines"},
		{"fabric/node/x.go", ours + "fabric/nic", "", "no particular one"},
		{"fabric/measure/x.go", ours + "fabric/nic", "", "figures come from notes"},
		{"fabric/rack/x.go", ours + "fabric/lab", "", "builds machines"},
		{"fabric/lab/x.go", ours + "fabric/rack", "", ""},
		{"fabric/lab/x.go", ours + "bus", "", "no bus"},
		{"fabric/lab/x_test.go", ours + "bus", "", "no bus"},
		{"fabric/attic/x.go", "", "", "unknown directory"},
		{"bus/x.go", ours + "fabric/frame", "", ""},
		{"bus/x.go", ours + "fabric/nic", "", "knows no machine"},
		{"bus/memory/x.go", ours + "bus", "", ""},
		{"bus/x.go", "github.com/nats-io/nats.go", "", ""},
		{"cmd/rackfab/x.go", "github.com/nats-io/nats-server/v2/server", "", "only the bus imports NATS"},
		{"services/internal/telemetry/x.go", "go.opentelemetry.io/otel", "", ""},
		{"services/collector/x.go", "go.opentelemetry.io/otel", "", "telemetry alone"},
		{"services/nic/x.go", ours + "services/internal/runner", "", ""},
		{"services/nic/x.go", ours + "services/switch", "", "gRPC alone"},
		{"services/launch/x.go", ours + "services/controller", "", ""},
		{"services/launch/x.go", ours + "services/collector", "", "starts the other services"},
		{"services/nic/x_test.go", ours + "services/nic", "", ""},
		{"services/nic/x_test.go", ours + "services/switch", "", "gRPC alone"},
		{"services/controller/x_test.go", ours + "services/nic", "", ""},
		{"services/controller/x.go", ours + "services/nic", "", "gRPC alone"},
		{"services/nic/x.go", ours + "cmd/rackfab", "", "only connect packages"},
		{"proto/rackfab/v1/x.go", ours + "fabric", "", "outlives"},
		{"cmd/rackfab/x.go", ours + "services/controller", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.file+"_"+path.Base(tt.imports)+tt.body, func(t *testing.T) {
			src := "package x\n"
			if tt.imports != "" {
				src += "import " + strconv.Quote(tt.imports) + "\n"
			}
			got := violations(t, tt.file, []byte(src+tt.body))
			if tt.want == "" && len(got) > 0 {
				t.Errorf("refused:\n%s", strings.Join(got, "\n"))
			}
			if tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
				t.Errorf("got %q, want one message with %q", got, tt.want)
			}
		})
	}
}

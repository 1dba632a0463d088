// Package compose writes the Compose file of a rack: one container each for the bus, the
// controller, the collector and every node or group of nodes. It knows containers and
// their names; it does not know what the processes in them do.
package compose

import (
	"bytes"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/launch"
)

//go:generate go run ../cmd/rackfab compose pcn-16to2 --output compose.yaml --overwrite

// Image is the default image of the containers, built from the Dockerfile.
const Image = "rackfab"

// Ports on which the processes of a rack listen, each in its own container.
const (
	BusPort  = 4222 // NATS
	GRPCPort = 7000 // controller, NICs and switches

	CollectorPort = 4317 // OTLP over gRPC and CollectorService
	OTLPHTTPPort  = 4318 // OTLP over HTTP, for programs outside the rack
	PagePort      = 8080 // the collector's web page
	MetricsPort   = 9464 // a process's own metrics, for Prometheus; not reachable from other networks
)

// Journal is the path in the controller's container of the journal of a live run.
const Journal = "/journal/live.yaml"

// data is the path in the collector's container of the store.
const data = "/telemetry"

// Paths of keys and certificates: key holds a container's own; keys, in the bus's
// container, holds those of all members, each in a folder.
const (
	key  = "/key"
	keys = "/keys"
)

// Names of the services that are not nodes.
const (
	bus        = "bus"
	controller = "controller"
)

// backends are the services of the profile otel. Their configuration files lie beside
// the Compose file.
var backends = []string{"otel", "jaeger", "prometheus"}

//go:embed compose.yaml.tmpl
var text string

var file = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("compose.yaml").Funcs(template.FuncMap{"word": word}).Parse(text))
})

// word returns a name, or a list of names, as one YAML scalar within a flow sequence: names
// such as "on" and "no" and lists need quotes.
func word(name string) (string, error) {
	if strings.Contains(name, ",") {
		return strconv.Quote(name), nil
	}
	out, err := yaml.Marshal(name)
	return string(bytes.TrimSpace(out)), err
}

// Options configure a Compose file.
type Options struct {
	// Image of the containers. If it is empty or the default Image, the file says how to
	// build it; any other image must exist locally or in a registry.
	Image string
	// TLS makes gRPC and the bus use mutual TLS with certificates that the bus creates.
	TLS bool
	// Processes is the number of containers that run the nodes, each a group of them, 1 to
	// the number of nodes.
	Processes int
}

// File returns the Compose file of the rack of s. The error says which node cannot name
// a container.
func File(s *topology.Scenario, o Options) ([]byte, error) {
	if err := check(s); err != nil {
		return nil, err
	}
	if o.Image == "" {
		o.Image = Image
	}
	alone := o.Processes == len(s.Nodes)
	var b bytes.Buffer
	err := file().Execute(&b, map[string]any{
		"Rack": s.Name, "Image": o.Image, "Build": o.Image == Image, "BusPort": BusPort, "GRPCPort": GRPCPort, "CollectorPort": CollectorPort, "OTLPHTTPPort": OTLPHTTPPort, "PagePort": PagePort, "MetricsPort": MetricsPort, "Data": data, "Journal": Journal, "Key": key, "Keys": keys, "TLS": o.TLS, "Backends": o.Image == Image && !o.TLS && alone, "Alone": alone, "Members": members(s, o.Processes),
	})
	return b.Bytes(), err
}

// member is the container of a node or of a group of nodes. It has the name of the first.
type member struct {
	Name   string
	Role   string   // command
	Flags  []string // of the command, with the name
	Nodes  string   // names and ranges of the nodes of a group, in order; "" of a node of its own
	Memory int      // limit, MiB
}

// Memory of a container in MiB: a process with one node needs less than half of nodeMemory,
// and each further node less than half of moreMemory.
const (
	nodeMemory = 128
	moreMemory = 2
)

// members cuts the rack into a container per process.
func members(s *topology.Scenario, processes int) (list []member) {
	for _, nodes := range launch.Groups(s, processes) {
		m := member{Name: nodes[0].Name, Memory: nodeMemory + moreMemory*(len(nodes)-1)}
		if m.Role, m.Flags = launch.Role(nodes); len(nodes) > 1 {
			var names []string
			for _, n := range nodes {
				names = append(names, n.Name)
			}
			m.Nodes = topology.JoinNames(names)
		}
		list = append(list, m)
	}
	return list
}

// check returns an error unless every node can have a container of its name. Host names
// are case-insensitive.
func check(s *topology.Scenario) error {
	taken := map[string]string{bus: "the bus", controller: "the controller", identity.Collector: "the collector", identity.Client: "a client", identity.CA: "the CA"}
	for _, name := range backends {
		taken[name] = "a back end"
	}
	for _, n := range s.Nodes {
		name := strings.ToLower(n.Name)
		if other, ok := taken[name]; ok {
			return fmt.Errorf("node %s: the name of its container is taken by %s", n.Name, other)
		}
		taken[name] = "node " + n.Name
	}
	return nil
}

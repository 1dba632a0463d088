// Package compose writes the Compose file of a rack: one container each for the bus, the
// controller, the collector and every node. It knows containers and their names; it does
// not know what the processes in them do.
package compose

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/identity"
)

//go:generate go run ../cmd/rackfab compose pcn-16to2 --output compose.yaml

// Image is the default image of the containers, built from the Dockerfile.
const Image = "rackfab"

// Ports on which the processes of a rack listen, each in its own container.
const (
	BusPort  = 4222 // NATS
	GRPCPort = 7000 // controller, NICs and switches

	CollectorPort = 4317 // OTLP and CollectorService
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

var file = template.Must(template.New("compose.yaml").Funcs(template.FuncMap{"word": word}).Parse(text))

// word returns a name as a YAML scalar: names such as "on" and "no" need quotes.
func word(name string) (string, error) {
	out, err := yaml.Marshal(name)
	return string(bytes.TrimSpace(out)), err
}

// File returns the Compose file of the rack of s. If image is empty or Image, the file
// says how to build the image; any other image must exist locally or in a registry. If
// secure, gRPC and the bus use mutual TLS with certificates that the bus creates. File
// returns an error if the name of a node cannot name a container.
func File(s *topology.Scenario, image string, secure bool) ([]byte, error) {
	if err := check(s); err != nil {
		return nil, err
	}
	if image == "" {
		image = Image
	}
	var b bytes.Buffer
	err := file.Execute(&b, map[string]any{
		"Rack": s.Name, "Image": image, "Build": image == Image, "BusPort": BusPort, "GRPCPort": GRPCPort, "CollectorPort": CollectorPort, "PagePort": PagePort, "MetricsPort": MetricsPort, "Data": data, "Journal": Journal, "Key": key, "Keys": keys, "TLS": secure, "Backends": image == Image && !secure, "Nodes": s.Nodes,
	})
	return b.Bytes(), err
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

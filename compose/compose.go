// Package compose writes the Compose file of a rack: a container for the bus, for
// the controller, for the collector and for every node. It knows containers and their names; it
// does not know what the processes in them do.
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

// Image is what the containers run by default: what Dockerfile makes.
const Image = "rackfab"

// Ports at which the processes of a rack listen, each in its own container.
const (
	BusPort  = 4222 // NATS
	GRPCPort = 7000 // controller, NICs and switches

	CollectorPort = 4317 // OTLP, and questions about it
	PagePort      = 8080 // the collector's page
	MetricsPort   = 9464 // how a process fares, for Prometheus; no other network sees it
)

// Journal is where the controller keeps the journal of a live run, in its container.
const Journal = "/journal/live.yaml"

// data is where the collector keeps what it gets, in its container.
const data = "/telemetry"

// key is where a container has its own key and certificate, keys where the bus has
// those of all members, each in a folder.
const (
	key  = "/key"
	keys = "/keys"
)

// Names of the services that are no nodes.
const (
	bus        = "bus"
	controller = "controller"
)

// backends are the services of the profile otel; their settings lie beside the file.
var backends = []string{"otel", "jaeger", "prometheus"}

//go:embed compose.yaml.tmpl
var text string

var file = template.Must(template.New("compose.yaml").Funcs(template.FuncMap{"word": word}).Parse(text))

// word spells a name in YAML: one such as "on" or "no" needs quotes.
func word(name string) (string, error) {
	out, err := yaml.Marshal(name)
	return string(bytes.TrimSpace(out)), err
}

// File gives the Compose file of the rack of s. Without an image, or with Image,
// it says how the image is built; another image has to be there already, or in a
// registry. With secure, gRPC and bus are mutual TLS, with certificates that the bus
// makes. A rack whose names make no containers is an error.
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

// check tells whether every node can have a container of its name. Names of
// hosts are the same in upper and lower case.
func check(s *topology.Scenario) error {
	taken := map[string]string{bus: "the bus", controller: "the controller", identity.Collector: "the collector", identity.Client: "a client", identity.CA: "the CA"}
	for _, name := range backends {
		taken[name] = "a back end"
	}
	for _, n := range s.Nodes {
		name := strings.ToLower(n.Name)
		if other, ok := taken[name]; ok {
			return fmt.Errorf("node %s: its container and its keys would have the name of %s", n.Name, other)
		}
		taken[name] = "node " + n.Name
	}
	return nil
}

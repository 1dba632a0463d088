// Package kubernetes writes the manifests of a rack: NATS as a cluster of three servers,
// free workers, the collector with its page, and the run, which spreads the rack over the
// workers.
// It knows Kubernetes objects and the names between them; it does not know what the
// processes in them do.
package kubernetes

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"text/template"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/compose"
	"github.com/rackfab/rackfab/fabric/topology"
)

// NATSImage is the default image of the bus: the release that the program embeds.
const NATSImage = "nats:2.15.2"

// Ports of the servers that Compose files do not have.
const (
	routePort   = 6222 // between NATS servers
	monitorPort = 8222 // health of a NATS server
)

// servers is the number of NATS servers.
const servers = 3

// Options configure the manifests.
type Options struct {
	Scenario *topology.Scenario
	// Builtin is the name of a built-in scenario. If it is "", Text is the scenario's file.
	Builtin string
	Text    []byte

	Image, NATSImage string
	Namespace        string   // of the rack alone
	Workers          int      // number of free workers
	Live             bool     // a live run instead of a batch run
	More             []string // flags of the run
}

// maxText is the largest scenario file in bytes. A ConfigMap has at most 1 MiB.
const maxText = 1<<20 - 1<<10

// namespacePattern is a DNS label, RFC 1123.
var namespacePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// check reports all invalid options, by the names of their flags.
func (o *Options) check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !namespacePattern.MatchString(o.Namespace) {
		fault("--namespace %q: must be a DNS label: at most 63 lower-case letters, digits and inner hyphens", o.Namespace)
	} else if o.Namespace == "default" || strings.HasPrefix(o.Namespace, "kube-") {
		fault("--namespace %s: must be a namespace of the rack's own, because the manifests create and label it", o.Namespace)
	}
	if nodes := len(o.Scenario.Nodes); o.Workers < 1 || o.Workers > nodes {
		fault("--workers %d: must be 1 to %d, the nodes of %s", o.Workers, nodes, o.Scenario.Name)
	}
	for _, image := range []struct{ flag, name string }{{"--image", o.Image}, {"--nats-image", o.NATSImage}} {
		if image.name == "" || strings.ContainsFunc(image.name, func(r rune) bool { return r <= ' ' }) {
			fault("%s %q: must be the name of an image", image.flag, image.name)
		}
	}
	if o.Builtin == "" && len(o.Text) > maxText {
		fault("scenario of %d bytes: must be at most %d, the limit of a ConfigMap", len(o.Text), maxText)
	}
	return errors.Join(faults...)
}

//go:embed manifests.yaml.tmpl
var manifests string

//go:embed pods.yaml.tmpl
var pods string

//go:embed policies.yaml.tmpl
var policies string

// file is the template of all documents. nats.go has the configuration of the bus.
var file = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"list": list, "indent": indent}).Parse(pods + manifests + policies))
})

// list returns words as a YAML flow sequence.
func list(words []string) (string, error) {
	text, err := json.Marshal(words)
	return strings.ReplaceAll(string(text), `","`, `", "`), err
}

// indent indents the lines of a block scalar.
func indent(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

// Manifests returns the manifests of a rack as one YAML stream, with new keys for its
// controller and its workers. The error joins all invalid options.
func Manifests(o Options) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	keys, config, err := newBus()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = file().ExecuteTemplate(&b, "manifests", map[string]any{
		"Options": o, "Keys": keys, "Config": config, "Sum": sum(config), "Text": string(o.Text),
		"Servers": servers, "Worker": worker(), "Collector": o.collector(), "Launcher": o.launcher(), "Command": o.Command(),
		"WorkerCores": workerCores, "WorkerMemory": workerMemory + 2*len(o.Scenario.Nodes), "LauncherMemory": launcherMemory + len(o.Scenario.Nodes),
		"Key": path.Dir(keyFile), "Journal": path.Dir(compose.Journal), "Data": dataFolder,
		"BusPort": compose.BusPort, "RoutePort": routePort, "MonitorPort": monitorPort,
		"GRPCPort": compose.GRPCPort, "NodePort": nodePort, "CollectorPort": compose.CollectorPort, "OTLPHTTPPort": compose.OTLPHTTPPort, "PagePort": compose.PagePort,
	})
	return b.Bytes(), err
}

// newBus returns new keys, by the name of their role, and the configuration of a bus that
// admits them. A worker may be any node of any rack: the launcher names the racks.
func newBus() (keys map[string]string, config string, err error) {
	keys = map[string]string{}
	var users []bus.User
	for _, role := range []struct {
		name  string
		nodes []string
	}{{"controller", nil}, {"worker", []string{"*"}}} {
		k, err := bus.NewKey()
		if err != nil {
			return nil, "", err
		}
		user, err := bus.UserOf("*", k, role.nodes...)
		if err != nil {
			return nil, "", err
		}
		keys[role.name], users = k.Seed(), append(users, user)
	}
	config, err = natsConfig(users)
	return keys, config, err
}

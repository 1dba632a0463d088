package kubernetes

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/compose"
)

// Paths in the containers.
const (
	keyFile      = "/key/nkey"               // of the bus, from a Secret
	scenarioFile = "/scenario/scenario.yaml" // from a ConfigMap
	dataFolder   = "/telemetry"              // the collector's store
)

// Memory in MiB.
const (
	workerMemory   = 256  // and 2 MiB for each node, because any worker may get most of them
	launcherMemory = 1024 // and 1 MiB for each node
)

// workerCores is the number of processors of a worker. It starts a process of nodes on
// each, which listen on the ports that follow its own.
const workerCores = 1

// nodePort is the port of a worker's process of nodes.
const nodePort = compose.GRPCPort + workerCores

// at returns the address of a service, or for all interfaces of a pod.
func at(host string, port int) string { return fmt.Sprintf("%s:%d", host, port) }

// every is the address of all interfaces of a pod.
const every = "0.0.0.0"

// busURLs returns the URLs of all servers of the bus.
func busURLs() string { return strings.Join(addresses(compose.BusPort), ",") }

// worker returns the command line of every worker. The name of its pod is its name.
func worker() []string {
	return []string{"worker", "--cores", strconv.Itoa(workerCores), "--bus", busURLs(), "--nkey", keyFile, "--listen", at(every, compose.GRPCPort)}
}

// collector returns the command line of the collector. Only a live run has a controller
// that outlives the run.
func (o *Options) collector() []string {
	args := []string{"collector", "--listen", at(every, compose.CollectorPort), "--otlp-http", at(every, compose.OTLPHTTPPort), "--http", at(every, compose.PagePort), "--data", dataFolder}
	if o.Live {
		args = append(args, "--controller", at(o.launcher(), compose.GRPCPort))
	}
	return args
}

// launcher returns the name of the pod that starts the run: a Job, or the Deployment of a
// live run. The controller is a child of its process.
func (o *Options) launcher() string {
	if o.Live {
		return "controller"
	}
	return "run"
}

// Command returns the command line of the launcher, without the name of the program.
func (o *Options) Command() []string {
	name, command := cmp.Or(o.Builtin, scenarioFile), "run"
	if o.Live {
		command = "up"
	}
	args := []string{command, name, "--workers", strconv.Itoa(o.Workers), "--nats-url", busURLs(), "--nats-nkey", keyFile}
	receiver := at("collector", compose.CollectorPort)
	if o.Live {
		args = append(args, "--collector", receiver, "--address", at(every, compose.GRPCPort), "--journal", compose.Journal)
	} else {
		args = append(args, "--telemetry="+receiver)
	}
	return append(args, o.More...)
}

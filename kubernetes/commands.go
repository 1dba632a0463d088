package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/compose"
	"github.com/rackfab/rackfab/services/launch"
)

// Paths in the containers.
const (
	keyFile      = "/key/nkey"               // of the bus, from a Secret
	scenarioFile = "/scenario/scenario.yaml" // from a ConfigMap
	dataFolder   = "/telemetry"              // the collector's store
)

// Memory in MiB.
const (
	workerMemory     = 256
	controllerMemory = 512 // and half a MiB for each node
)

// at returns the address of a service, or for all interfaces of a pod.
func at(host string, port int) string { return fmt.Sprintf("%s:%d", host, port) }

// every is the address of all interfaces of a pod.
const every = "0.0.0.0"

// onBus returns the flags of a process that uses the bus.
func onBus() []string {
	return []string{
		"--bus", strings.Join(addresses(compose.BusPort), ","), "--nkey", keyFile,
		"--listen", at(every, compose.GRPCPort), "--collector", at("collector", compose.CollectorPort),
	}
}

// worker is a pod with a group of nodes.
type worker struct {
	Name   string
	Args   []string
	Memory int // limit, MiB
}

// workers cuts the rack into a pod per worker.
func (o *Options) workers() (list []worker) {
	for i, nodes := range launch.Groups(o.Scenario, o.Workers) {
		role, flags := launch.Role(nodes)
		list = append(list, worker{
			Name: fmt.Sprintf("worker-%d", i), Args: slices.Concat([]string{role}, onBus(), flags), Memory: workerMemory + 2*len(nodes),
		})
	}
	return list
}

// controller returns the command line of the controller.
func controller() []string {
	return slices.Concat([]string{"controller"}, onBus(), []string{"--journal", compose.Journal})
}

// collector returns the command line of the collector.
func collector() []string {
	return []string{
		"collector", "--listen", at(every, compose.CollectorPort), "--http", at(every, compose.PagePort), "--data", dataFolder,
		"--controller", at("controller", compose.GRPCPort),
	}
}

// Command returns the command line of the run, without the name of the program. A live run
// goes on after the command.
func (o *Options) Command() []string {
	name := o.Builtin
	if name == "" {
		name = scenarioFile
	}
	args := []string{"run", name, "--controller", at("controller", compose.GRPCPort), "--telemetry=" + at("collector", compose.CollectorPort)}
	if o.Live {
		args = []string{"up", name, "--controller", at("controller", compose.GRPCPort)}
	}
	return append(args, o.More...)
}

package compose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/launch"
)

// valuesOf returns the values of a flag in a command.
func valuesOf(command []string, flag string) (values []string) {
	for i, word := range command {
		if word == flag {
			values = append(values, command[i+1])
		}
	}
	return values
}

// With fewer processes than nodes, every node runs in exactly one container, which has the
// name, the key and the host name of its first node, and the bus knows the nodes of each.
func TestWorkers(t *testing.T) {
	s := pcn16to2(t)
	for _, processes := range []int{1, 3, 19} {
		text, err := File(s, Options{Processes: processes})
		if err != nil {
			t.Fatal(err)
		}
		d := parse(t, text)
		if want := processes + 3; len(d.Services) != want {
			t.Errorf("%d containers, want %d", len(d.Services), want)
		}
		var workers []string
		for _, nodes := range launch.Groups(s, processes) {
			name := nodes[0].Name
			c := d.Services[name]
			if have := nodesOf(t, c.Command); !slices.Equal(have, slices.Sorted(slices.Values(names(nodes)))) {
				t.Errorf("%s runs %v, want %v", name, have, names(nodes))
			}
			if c.Hostname != name || !slices.Equal(c.Volumes, []string{"key-" + name + ":/key:ro"}) || c.Memory != fmt.Sprintf("%dm", 126+2*len(nodes)) {
				t.Errorf("%s: %+v", name, c)
			}
			if len(nodes) > 1 {
				workers = append(workers, strings.Join(names(nodes), ","))
			}
		}
		var known []string
		for _, list := range valuesOf(d.Services["bus"].Command, "--worker") {
			known = append(known, strings.Join(expand(t, list), ","))
		}
		if !slices.Equal(known, workers) {
			t.Errorf("the bus knows the workers %q, want %q", known, workers)
		}
	}
}

func names(nodes []topology.Node) (list []string) {
	for _, n := range nodes {
		list = append(list, n.Name)
	}
	return list
}

func expand(t *testing.T, list string) []string {
	t.Helper()
	names, err := topology.Names(list)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// nodesOf returns the names of the nodes that the command runs, sorted.
func nodesOf(t *testing.T, command []string) (nodes []string) {
	t.Helper()
	lists := append(valuesOf(command, "--nics"), valuesOf(command, "--switches")...)
	if command[0] != "worker" {
		lists = valuesOf(command, "--name")
	}
	for _, list := range lists {
		nodes = append(nodes, expand(t, list)...)
	}
	slices.Sort(nodes)
	return nodes
}

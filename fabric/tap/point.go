package tap

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Point is a port at which a capture records frames.
type Point struct {
	Node int // index in the scenario
	Port fabric.Port
	Name string // "s1:p2"
	Peer string // the node at the other end, see Scenario.PeerName
}

// Points returns the ports that match names, in the order of names and without
// duplicates. NODES selects all ports of nodes and ranges ("s1", "h0..h3"), NODE:pN the
// port with that number, NODE:PEER the ports that lead to another node, NODE:PEER#2 the second
// of them. The error lists every name without a match.
func Points(s *topology.Scenario, names []string) ([]Point, error) {
	var points []Point
	var faults []error
	ends := s.PortMap()
	for _, name := range names {
		some, err := find(s, ends, name)
		if err != nil {
			faults = append(faults, err)
		}
		for _, p := range some {
			if !slices.Contains(points, p) {
				points = append(points, p)
			}
		}
	}
	if len(names) == 0 {
		faults = append(faults, errors.New("no ports given: use NODE, NODE:pN or NODE:PEER, such as s1, s1:p2 or s1:s0"))
	}
	return points, errors.Join(faults...)
}

func find(s *topology.Scenario, ends [][]topology.End, name string) (points []Point, err error) {
	nodes, port, one := strings.Cut(name, ":")
	list, err := topology.Names(nodes)
	if err != nil {
		return nil, err
	}
	for _, n := range list {
		i := slices.IndexFunc(s.Nodes, func(c topology.Node) bool { return c.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("%s: unknown node %s", name, n)
		}
		found := 0
		for p, end := range ends[i] {
			peer := s.PeerName(end)
			if one && port != peer && port != s.Nodes[end.Peer].Name && port != "p"+strconv.Itoa(p) {
				continue
			}
			found++
			points = append(points, Point{i, fabric.Port(p), fmt.Sprintf("%s:p%d", n, p), peer})
		}
		if found == 0 {
			return nil, fmt.Errorf("%s: %s has no such port: must be p0 to p%d or the name of a neighbour", name, n, len(ends[i])-1)
		}
	}
	return points, nil
}

// ByNode returns the ports of the points, grouped by node.
func ByNode(points []Point) map[int][]fabric.Port {
	ports := map[int][]fabric.Port{}
	for _, p := range points {
		ports[p.Node] = append(ports[p.Node], p.Port)
	}
	return ports
}

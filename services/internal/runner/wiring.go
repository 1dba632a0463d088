package runner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/unit"
)

// wiring maps the ports of a group's nodes to links between its nodes, and to the links
// that it shares with its peers.
type wiring struct {
	inside    [][]node.End // by node and port
	lookahead unit.Time    // of the links inside
	outside   [][]line     // by node and port; valid where inside is node.Outside
	peers     []peer
}

// line is a link to a peer.
type line struct{ peer, link int }

// peer is another group and the links to it. Both groups number these in the order of
// the scenario.
type peer struct {
	group     string
	links     []socket
	lookahead unit.Time // the least of the links
}

// socket is a port of a node, by their indices, and the link there.
type socket struct{ node, port, link int }

// wire returns the wiring of the group with the given name. The error names an unknown peer.
func wire(name string, group []Node) (*wiring, error) {
	w := &wiring{lookahead: unit.Never}
	index, others := map[string]int{}, map[string]int{}
	for i, n := range group {
		index[n.Name] = i
	}
	for i, n := range group {
		w.inside, w.outside = append(w.inside, make([]node.End, len(n.Ports))), append(w.outside, make([]line, len(n.Ports)))
		for p, far := range n.Ports {
			if far.Group == name {
				at, ok := index[far.Peer]
				if !ok {
					return nil, fmt.Errorf("port %d of %s: no node %s in the group", p, n.Name, far.Peer)
				}
				w.inside[i][p] = node.End{Node: at, Port: far.PeerPort}
				w.lookahead = min(w.lookahead, far.Lookahead)
				continue
			}
			w.inside[i][p] = node.Outside
			k, known := others[far.Group]
			if !known {
				k = len(w.peers)
				others[far.Group] = k
				w.peers = append(w.peers, peer{group: far.Group, lookahead: unit.Never})
			}
			to := &w.peers[k]
			to.links = append(to.links, socket{i, p, far.Link})
			to.lookahead = min(to.lookahead, far.Lookahead)
		}
	}
	for k := range w.peers {
		links := w.peers[k].links
		slices.SortFunc(links, func(a, b socket) int { return cmp.Compare(a.link, b.link) })
		for link, at := range links {
			w.outside[at.node][at.port] = line{k, link}
		}
	}
	return w, nil
}

// sync returns the link protocol of the group named group, before any grant. It ticks
// every tick of wall time.
func (w *wiring) sync(run, group string, tick time.Duration) (*bus.Sync, error) {
	var peers []bus.PeerConfig
	for _, p := range w.peers {
		peers = append(peers, bus.PeerConfig{Name: p.group + "->" + group, Links: len(p.links), Lookahead: p.lookahead})
	}
	return bus.NewSync(uint32(xxhash.Sum64String(run))|1, peers, 0, int(silence/tick))
}

// count returns the number of links, those inside counted once.
func (w *wiring) count() (links int) {
	ports := 0
	for i := range w.inside {
		ports += len(w.inside[i])
	}
	for _, p := range w.peers {
		links += len(p.links)
	}
	return (ports + links) / 2
}

// at returns the node and its port at a link to a peer.
func (w *wiring) at(peer, link int) (node int, port fabric.Port) {
	s := w.peers[peer].links[link]
	return s.node, fabric.Port(s.port)
}

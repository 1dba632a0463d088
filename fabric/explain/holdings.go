package explain

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// mostHoldings is the largest number of entries in a list of holdings. The last entry
// sums up the rest.
const mostHoldings = 12

// holdings lists the flows that occupy the account of a port, by flow and egress port.
func (w *watcher) holdings(port fabric.Port) []Holding {
	type key struct {
		flow fabric.FlowID
		to   fabric.Port
	}
	bytes := map[key]unit.Bytes{}
	w.sw.Waiting(w.o.Class, func(from, to fabric.Port, flow fabric.FlowID, length unit.Bytes) {
		if from == port {
			bytes[key{flow, to}] += length
		}
	})
	list := make([]Holding, 0, len(bytes))
	for k, n := range bytes {
		list = append(list, Holding{Flow: w.o.name(k.flow), Egress: w.o.s.Nodes[w.ends[k.to].Peer].Name, Bytes: n})
	}
	slices.SortFunc(list, func(a, b Holding) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Flow, b.Flow), cmp.Compare(a.Egress, b.Egress))
	})
	return shortened(list)
}

// shortened keeps the first holdings and merges the others into one.
func shortened(list []Holding) []Holding {
	if len(list) <= mostHoldings {
		return list
	}
	rest := Holding{Flow: others}
	for _, h := range list[mostHoldings-1:] {
		rest.Bytes += h.Bytes
	}
	return append(list[:mostHoldings-1], rest)
}

// others names the merged entry of all flows beyond the length of a list.
const others = "others"

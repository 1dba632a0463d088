package export

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The lines follow the UEC driver of htsim (github.com/ultraethernet/uet-htsim, sim/uec.cpp), which prints
// one when a sender has all acknowledgements.

// firstFlowID is the first id that htsim gives to flows without one (sim/network.h).
const firstFlowID = 1000000000

// imported matches names of flows with the id of a connection matrix, F7 or F7-2.
var imported = regexp.MustCompile(`^F([0-9]{1,10})(-[0-9]+)?$`)

// finished is a line of the log.
type finished struct {
	source   int // number of the flow or message in the scenario
	name     string
	from, to int
	size     unit.Bytes
	at       unit.Time
}

// WriteHTSim writes the log of finished flows: a line per flow that is complete, and per acknowledged message of
// a program, in the order in which they finished. Times are us.
func (e *Events) WriteHTSim(w io.Writer, s *topology.Scenario) error {
	out := bufio.NewWriter(w)
	for _, f := range e.finished(s) {
		id := int64(firstFlowID + f.source)
		if m := imported.FindStringSubmatch(f.name); m != nil {
			id, _ = strconv.ParseInt(m[1], 10, 64) // at most 10 digits
		}
		payload := s.Nodes[f.from].NIC.Payload
		_, _ = fmt.Fprintf(out, "Flow Uec_%d_%d flowId %d uecSrc %d finished at %d.%06d total messages 1 total packets %d RTS 0 total bytes %d in_flight now 0\n",
			f.from, f.to, id, f.source, f.at/unit.Microsecond, f.at%unit.Microsecond, (f.size+payload-1)/payload, int64(f.size)) // reported by Flush
	}
	return out.Flush()
}

// finished returns the flows and messages, in the order in which they finished.
func (e *Events) finished(s *topology.Scenario) (list []finished) {
	for _, c := range e.Flows {
		f := s.Flows[c.Flow]
		list = append(list, finished{source: int(c.Flow), name: f.Name, from: f.From, to: f.To, size: c.Size, at: c.At})
	}
	messages := map[[2]int]finished{} // by node and step
	for h, k := range s.Sends() {
		step := h.At(k)
		messages[[2]int{h.Node, k}] = finished{source: len(s.Flows) + len(messages), name: h.Labels[k], from: h.Node, to: int(step.Peer), size: unit.Bytes(step.Amount)}
	}
	for _, done := range e.Steps {
		if m, ok := messages[[2]int{done.Node, done.Step}]; ok {
			m.at = done.At
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b finished) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.source, b.source)) })
	return list
}

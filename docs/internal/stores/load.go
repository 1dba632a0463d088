package main

import (
	"encoding/binary"
	"math/rand/v2"
)

// row is a span as a store is given it: what is queried in columns, the rest as
// an opaque body.
type row struct {
	trace            [16]byte
	span, parent     uint64
	name, node, flow uint16
	start, duration  int64
	body             []byte
}

// shape of the load: GETs through two switches, ten spans each.
const (
	spansPerTrace = 10
	flows         = 226
	nodes         = 20
)

// load gives the spans of n traces in the order in which a collector gets them:
// a batch of each node in turn, so that the spans of a trace come apart.
func load(traces int, yield func(batch []row)) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const window = 512 // traces whose spans come in the same round of batches
	for first := 0; first < traces; first += window {
		count := min(window, traces-first)
		byNode := make([][]row, nodes)
		for i := range count {
			t := uint64(first + i)
			var id [16]byte
			binary.BigEndian.PutUint64(id[:8], rnd.Uint64())
			binary.BigEndian.PutUint64(id[8:], rnd.Uint64())
			flow := uint16(rnd.IntN(flows))
			start := int64(t) * 800_000
			duration := int64(10_000_000 + rnd.ExpFloat64()*2e9)
			from, to := rnd.IntN(nodes-2), rnd.IntN(nodes-2)
			at := []int{from, from, nodes - 2, nodes - 1, to, to, nodes - 1, nodes - 2, from, from}
			for k := range spansPerTrace {
				body := make([]byte, 80+rnd.IntN(60))
				for j := range body {
					body[j] = byte(j + rnd.IntN(4))
				}
				r := row{trace: id, span: rnd.Uint64(), name: uint16(k), node: uint16(at[k]), flow: flow, start: start, duration: duration / int64(k+1), body: body}
				if k > 0 {
					r.parent = 1
				}
				byNode[at[k]] = append(byNode[at[k]], r)
			}
		}
		for _, b := range byNode {
			if len(b) > 0 {
				yield(b)
			}
		}
	}
}

package scenariofile

import (
	"fmt"
	"strings"

	"github.com/rackfab/rackfab/fabric/workload"
)

// maxTree bounds the hosts of a fat tree: those of switches with 16 ports.
const maxTree = 1024

// treeForm begins a scenario on a fat tree: formats of the name and of the duration in
// microseconds. The thresholds are those of the HPCC simulator for DCQCN at 100 Gbit/s
// (run.py).
const treeForm = `name: %s
seed: 1
duration: %dus
scheme: dcqcn
compare: [pfc, dcqcn, swift, hpcc, irn, mrc]
defaults:
  link: {rate: 100Gbps, delay: 1us}
  switch: {kmin: 400KB, kmax: 1600KB, pmax: 0.2}
`

// incast returns a scenario in which n[0] hosts send 1 MB each to one receiver at the same
// instant. It lasts five times as long as the receiver's link needs.
func incast(name string, n []int) []byte {
	b := fmt.Appendf(nil, treeForm, name, 20000+n[0]*400)
	hosts := hostNames(n[0])
	b = fatTree(b, append(hosts, "r0"))
	return fmt.Appendf(b, "bursts:\n  - {name: incast, from: h0..h%d, to: r0, size: 1MB, at: 100us}\n", n[0]-1)
}

// permutation returns a scenario in which each of n[0] hosts sends 10 MB to another host,
// and receives 10 MB.
func permutation(name string, n []int) []byte {
	b := fmt.Appendf(nil, treeForm, name, 40000)
	b = fatTree(b, hostNames(n[0]))
	b = append(b, "flows:\n"...)
	for from, to := range workload.Permutation(1, n[0]) {
		b = fmt.Appendf(b, "  - {name: F%d, from: h%d, to: h%d, size: 10MB}\n", from, from, to)
	}
	return b
}

func hostNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("h%d", i)
	}
	return names
}

// fatTree appends nodes and links of the smallest fat tree with room for the hosts (Al-Fares,
// Loukissas, Vahdat, SIGCOMM'08): k pods with k/2 edge switches e and k/2 aggregation
// switches a, and (k/2)^2 core switches c, each with k ports, k at least 4. Hosts are dealt
// to the edge switches in turn, so that few hosts use many pods.
func fatTree(b []byte, hosts []string) []byte {
	k := 4
	for k*k*k/4 < len(hosts) {
		k += 2
	}
	half, edges := k/2, k*k/2
	below := make([][]string, edges)
	for i, h := range hosts {
		below[i%edges] = append(below[i%edges], h)
	}
	b = fmt.Appendf(b, "nics: {%s: }\n", strings.Join(hosts, ": , "))
	b = fmt.Appendf(b, "switches: {e0..e%d: , a0..a%[1]d: , c0..c%d: }\nlinks:\n", edges-1, half*half-1)
	for i, list := range below {
		if len(list) > 0 {
			b = fmt.Appendf(b, "  - endpoints: [%q, e%d]\n", strings.Join(list, ", "), i)
		}
	}
	for first := 0; first < edges; first += half {
		last := first + half - 1
		b = fmt.Appendf(b, "  - endpoints: [e%d..e%d, a%[1]d..a%[2]d]\n", first, last)
	}
	for i := range edges {
		core := i % half * half
		b = fmt.Appendf(b, "  - endpoints: [a%d, c%d..c%d]\n", i, core, core+half-1)
	}
	return b
}

package imports

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// workloadOf returns a workload with the keys after the policy, and layers.
func workloadOf(keys string, layers ...string) File {
	return File{"w.txt", fmt.Appendf(nil, "HYBRID_TRANSFORMER_FWD_IN_BCKWD %s\n%d\n%s\n", keys, len(layers), strings.Join(layers, "\n"))}
}

// smallWorkload has collectives of all passes, a group of each kind, and a collective that the next step does not wait for.
var smallWorkload = workloadOf("model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0",
	"embedding -1 20000 ALLREDUCE 1000000 1 NONE 0 20000 ALLGATHER 4000000 100",
	"moe\t-1\t80000\tALLTOALL_EP\t2000000\t80000\tREDUCESCATTER\t2000000\t0\tALLREDUCE_DP_EP\t2000000\t0")

// IMP-14: The steps and collectives of small workloads, and what the notes say.
func TestSimAISamples(t *testing.T) {
	for name, c := range map[string]struct {
		workload File
		want     string // end of the scenario
		notes    string
	}{
		"passes": {
			workloadOf("model_parallel_NPU_group: 2 all_gpus: 2", "a -1 5 ALLREDUCE 80 6 ALLGATHER 90 7 NONE 0 9", "b -1 1 NONE 0 2 NONE 0 3 NONE 0 9"),
			`programs:
  h0: |
    f0: calc 5ns
    f0u: calc 9ns on 1 after f0-0
    f1: calc 1ns after f0u
    i1: calc 2ns after f1
    w1: calc 3ns after i1
    i0: calc 6ns after w1
    i0u: calc 9ns on 1 after i0-0
    w0: calc 7ns after i0u
  h1: |
    f0: calc 5ns
    f0u: calc 9ns on 1 after f0-0
    f1: calc 1ns after f0u
    i1: calc 2ns after f1
    w1: calc 3ns after i1
    i0: calc 6ns after w1
    i0u: calc 9ns on 1 after i0-0
    w0: calc 7ns after i0u
collectives:
  - {name: f0-0, kind: all-reduce, ranks: [h0..h1], size: 80B, after: [f0]}
  - {name: i0-0, kind: all-gather, ranks: [h0..h1], size: 90B, after: [i0]}
`, "2 collectives have the default algorithm of the kind: workloads name none",
		},
		"weight gradients do not wait": {
			workloadOf("model_parallel_NPU_group: 1 all_gpus: 2", "a -1 5 NONE 0 6 NONE 0 7 REDUCESCATTER 80 0", "b -1 1 NONE 0 2 NONE 0 3 ALLTOALL 90 4"),
			`  h1: |
    f0: calc 5ns
    f1: calc 1ns after f0
    i1: calc 2ns after f1
    w1: calc 3ns after i1
    w1u: calc 4ns on 2 after w1-0
    i0: calc 6ns after w1
    w0: calc 7ns after i0
collectives:
  - {name: w1-0, kind: all-to-all, ranks: [h0..h1], size: 90B, after: [w1]}
  - {name: w0-0, kind: reduce-scatter, ranks: [h0..h1], size: 80B, after: [w0]}
`, "2 collectives have the default algorithm of the kind: workloads name none",
		},
		"groups": {
			workloadOf("model_parallel_NPU_group: 2 ep: 2 all_gpus: 8", "a -1 0 ALLREDUCEALLTOALL 80 0 ALLTOALL_EP 1 0 ALLREDUCE 80 0", "b 0 0 ALLGATHER_DP_EP 80 0 NONE 0 0 NONE 0 0"),
			`collectives:
  - {name: f0-0, kind: all-reduce, ranks: [h0..h1], size: 80B, after: [f0]}
  - {name: f0-0-then, kind: all-to-all, ranks: [h0..h1], size: 80B, after: [f0-0]}
  - {name: f0-1, kind: all-reduce, ranks: [h2..h3], size: 80B, after: [f0]}
  - {name: f0-1-then, kind: all-to-all, ranks: [h2..h3], size: 80B, after: [f0-1]}
  - {name: f0-2, kind: all-reduce, ranks: [h4..h5], size: 80B, after: [f0]}
  - {name: f0-2-then, kind: all-to-all, ranks: [h4..h5], size: 80B, after: [f0-2]}
  - {name: f0-3, kind: all-reduce, ranks: [h6..h7], size: 80B, after: [f0]}
  - {name: f0-3-then, kind: all-to-all, ranks: [h6..h7], size: 80B, after: [f0-3]}
  - {name: f1-0, kind: all-gather, ranks: [h0, h4], size: 80B, after: [f1]}
  - {name: f1-1, kind: all-gather, ranks: [h2, h6], size: 80B, after: [f1]}
  - {name: f1-2, kind: all-gather, ranks: [h1, h5], size: 80B, after: [f1]}
  - {name: f1-3, kind: all-gather, ranks: [h3, h7], size: 80B, after: [f1]}
  - {name: i0-0, kind: all-to-all, ranks: [h0, h2], size: 2B, after: [i0]}
  - {name: i0-1, kind: all-to-all, ranks: [h4, h6], size: 2B, after: [i0]}
  - {name: i0-2, kind: all-to-all, ranks: [h1, h3], size: 2B, after: [i0]}
  - {name: i0-3, kind: all-to-all, ranks: [h5, h7], size: 2B, after: [i0]}
  - {name: w0-0, kind: all-reduce, ranks: [h0, h2, h4, h6], size: 80B, after: [w0]}
  - {name: w0-1, kind: all-reduce, ranks: [h1, h3, h5, h7], size: 80B, after: [w0]}
`, `w.txt: 1 collective of less than a byte per GPU: of a byte per GPU now
w.txt: 1 ALLREDUCEALLTOALL as an all-reduce, and an all-to-all of the same size after it
w.txt: 1 layer with a dependency on others: ignored, as by SimAI
18 collectives have the default algorithm of the kind: workloads name none`,
		},
		"recomputation": {
			workloadOf("model_parallel_NPU_group: 2 all_gpus: 2 checkpoints: 1 0 checkpoint_initiates: 1 2", "a -1 1 NONE 0 2 NONE 0 3 NONE 0 0", "b -1 4 NONE 0 5 NONE 0 6 NONE 0 0", "c -1 7 NONE 0 8 NONE 0 9 NONE 0 0"),
			`  h1: |
    f0: calc 1ns
    f1: calc 4ns after f0
    f2: calc 7ns after f1
    r2_0: calc 1ns after f2
    r2_1: calc 4ns after r2_0
    i2: calc 8ns after r2_1
    w2: calc 9ns after i2
    i1: calc 5ns after w2
    w1: calc 6ns after i1
    i0: calc 2ns after w1
    w0: calc 3ns after i0
`, "",
		},
		"left out": {
			workloadOf("model_parallel_NPU_group: 1 ep: 1 pp: 1 pp_comm 5 all_gpus: 1 dp: 1", "a -1 1 BROADCAST 5 2 ALLREDUCE 0 3 ALLREDUCE 5 8\nrest"),
			"programs:\n  h0: |\n    f0: calc 1ns\n    i0: calc 2ns after f0\n    w0: calc 3ns after i0\n",
			"w.txt:1: ignored: dp: 1\nw.txt:1: ignored: pp_comm, there is one stage\nw.txt:4: ignored: the rest of the file, after the last layer\n" +
				"w.txt: 1 BROADCAST left out, as by SimAI\nw.txt: 1 collective of 0 bytes left out\nw.txt: 1 collective of one GPU left out",
		},
		"benchmark": {
			File{"w.txt", []byte("MICRO all_gpus: 4\n2\nm -1 1 ALLREDUCE 5 1 NONE 0 1 ALLGATHER 4096 1\nm -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8192 1\n")},
			`collectives:
  - {name: w0-0, kind: all-gather, ranks: [h0..h3], size: 4096B}
  - {name: w1-0, kind: all-reduce, ranks: [h0..h3], size: 8192B, after: [w0-0]}
`, "w.txt: 1 collective of other passes than the weight gradient left out, as by SimAI in MICRO\n2 collectives have the default algorithm of the kind: workloads name none",
		},
		"without recomputation": {
			File{"w.txt", []byte("HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 2 checkpoints: 1 0 checkpoint_initiates: 1 1\r\n2\r\na -1 1 NONE 0 2 NONE 0 3 NONE 0 0\r\nb -1 4 NONE 0 5 NONE 0 6 NONE 0 0\r\n")},
			`  h1: |
    f0: calc 1ns
    f1: calc 4ns after f0
    i1: calc 5ns after f1
    w1: calc 6ns after i1
    i0: calc 2ns after w1
    w0: calc 3ns after i0
`, "w.txt:1: ignored: checkpoint_initiates, not used by HYBRID_TRANSFORMER",
		},
	} {
		out, err := SimAI(c.workload, nil, nil, testLayout)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.HasSuffix(string(out.Scenario), c.want) {
			t.Errorf("%s:\n%s\nwant the end\n%s", name, out.Scenario, c.want)
		}
		if notes := strings.Join(out.Notes, "\n"); notes != c.notes {
			t.Errorf("%s: notes\n%s\nwant\n%s", name, notes, c.notes)
		}
	}
}

// IMP-14: An imported workload runs with the digest of the scenario that says the same.
func TestSimAIByHand(t *testing.T) {
	const rack = "name: r\nduration: 5ms\nscheme: pcn\nnics: {h0..h7: }\nswitches: {s0: {buffer: 64MB}}\nlinks: [{endpoints: [h0..h7, s0], rate: 100Gbps, delay: 1us}]\n"
	out, err := SimAI(smallWorkload, nil, nil, testLayout)
	if err != nil {
		t.Fatal(err)
	}
	_, steps, _ := strings.Cut(string(out.Scenario), "programs:")
	byHand := "programs:\n"
	for host := range 8 {
		tensor, expert := host/2, host/4*2+host%2
		byHand += fmt.Sprintf(`  h%d: |
    embed: calc 20us
    ready: calc 100ns on 1 after sum%[2]d
    experts: calc 80us after ready
    gradient: calc 80us after swap%[3]d
    weights: calc 0s after scatter%[2]d
    to_inputs: calc 1ns after weights
    last: calc 20us after to_inputs
    calc 100ns on 2 after gather%[4]d
`, host, tensor, expert, host%2)
	}
	byHand += "collectives:\n"
	add := func(name, kind string, n, size int, after string, ranks ...string) {
		byHand += fmt.Sprintf("  - {name: %s%d, kind: %s, ranks: [%s], size: %dB, after: [%s]}\n", name, n, kind, strings.Join(ranks, ", "), size, after)
	}
	host := func(n int) string { return fmt.Sprintf("h%d", n) }
	for i := range 4 {
		add("sum", "all-reduce", i, 1e6, "embed", host(2*i), host(2*i+1))
	}
	for _, i := range []int{0, 2, 1, 3} {
		add("swap", "all-to-all", i, 2e6, "experts", host(i/2*4+i%2), host(i/2*4+i%2+2))
	}
	for i := range 4 {
		add("scatter", "reduce-scatter", i, 2e6, "gradient", host(2*i), host(2*i+1))
	}
	for _, i := range []int{0, 2, 1, 3} {
		add("shards", "all-reduce", i, 2e6, "weights", host(i), host(i+4))
	}
	for i := range 2 {
		add("gather", "all-gather", i, 4e6, "last", host(i), host(i+2), host(i+4), host(i+6))
	}
	digest := func(steps string) string {
		s, err := scenariofile.Parse("s", []byte(rack+steps))
		if err != nil {
			t.Fatalf("%v\n%s", err, steps)
		}
		return stepsOf(t, s).digest
	}
	want, got := digest(byHand), digest("programs:"+steps)
	if got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	if digest(strings.Replace(byHand, "calc 80us", "calc 81us", 1)) == want {
		t.Error("another time has the same digest")
	}
}

// IMP-15: Each rank is in one group of each kind. Groups of a kind are of one size, and the members of a tensor-parallel group
// are consecutive; those of all others have the same place in theirs, and are in one stage.
func TestSimAIGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5)
		tp, ep, shards, pp := size.Draw(t, "tp"), size.Draw(t, "ep"), size.Draw(t, "shards"), size.Draw(t, "pp")
		s := &simai{tp: tp, ep: ep, pp: pp, ranks: tp * ep * shards * pp}
		s.makeGroups(ep * shards)
		sizes := [simaiGroups]int{groupTP: tp, groupDP: ep * shards, groupEP: ep, groupDPEP: shards}
		steps := [simaiGroups]int{groupTP: 1, groupDP: tp, groupEP: tp, groupDPEP: tp * ep}
		for kind, groups := range s.groups {
			seen := map[int]bool{}
			for g, ranks := range groups {
				if len(ranks) != sizes[kind] {
					t.Errorf("group %d of kind %d has ranks %v, want %d", g, kind, ranks, sizes[kind])
				}
				for i, rank := range ranks {
					if seen[rank] || s.member[kind][rank] != g || rank != ranks[0]+i*steps[kind] || rank/(s.ranks/pp) != ranks[0]/(s.ranks/pp) {
						t.Errorf("group %d of kind %d has ranks %v", g, kind, ranks)
					}
					seen[rank] = true
				}
			}
			if len(seen) != s.ranks {
				t.Errorf("%d ranks in groups of kind %d, want %d", len(seen), kind, s.ranks)
			}
		}
	})
}

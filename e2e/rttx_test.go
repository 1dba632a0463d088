package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A fabric whose switches convert ECN to RTT gives the same run over NATS as in memory.
// So does one with a sender that uses both signals. Counts and rewritten bytes are
// included.
func TestConversionOverNATSMatchesMemory(t *testing.T) {
	t.Parallel()
	args := []string{"rttx-16to2", "--scheme", "timely-ecn,timely-rttx", "--duration", short}
	memory := start(t, append(args, "--bus", "memory")...).results(t)
	nats := start(t, append(args, overNATS()...)...).results(t)
	if diff := cmp.Diff(digests(memory), digests(nats)); diff != "" {
		t.Fatalf("digests differ (-memory +nats):\n%s", diff)
	}
	if len(memory.Runs) != 2 || memory.Runs[0].Digest == memory.Runs[1].Digest {
		t.Errorf("%d runs", len(memory.Runs))
	}
}

package controller

import (
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// A burst that a client requests within a sampled trace carries the trace context to
// the nodes. A burst without a trace, or with one that is not sampled, does not. The
// journal never contains the trace context.
func TestBurstCarriesItsCaller(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	const trace = "0af7651916cd43dd8448eb211c80319c"
	for name, test := range map[string]struct {
		header string
		want   string
	}{
		"sampled":     {"00-" + trace + "-b7ad6b7169203331-01", "00-" + trace + "-"},
		"not sampled": {"00-" + trace + "-b7ad6b7169203331-00", ""},
		"none":        {"", ""},
		"malformed":   {"00-xyz", ""},
	} {
		ctx := t.Context()
		if test.header != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", test.header)
		}
		out, err := r.API().Apply(ctx, &rackfabv1.ApplyRequest{Change: &rackfabv1.Change{Verb: &rackfabv1.Change_Burst{Burst: &rackfabv1.Burst{
			From: "h0", To: "h1", Volume: &rackfabv1.Burst_SizeBytes{SizeBytes: 1000},
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := out.GetChange().GetTraceparent(); test.want == "" && got != "" || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	r.step(t, unit.Microsecond)
	journal, err := r.API().GetJournal(t.Context(), &rackfabv1.GetJournalRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(journal.GetJournal().GetScenario()), trace) {
		t.Error("the journal has the caller's trace")
	}
}

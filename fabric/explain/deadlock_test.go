package explain

import (
	"os"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
)

// PCN-63: The report names the cycle of a PFC deadlock, and since when a link is part of it; a link outside the
// cycle is not.
func TestReportOfADeadlock(t *testing.T) {
	text, err := os.ReadFile("../lab/testdata/ring5.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := parse(t, string(text), topology.Setting{Key: "scheme", Value: "pfc"}, topology.Setting{Key: "duration", Value: "2ms"})
	for link, part := range map[string]bool{"s1->s0": true, "s0->h0": false} {
		r := ask(t, s, link)
		var b strings.Builder
		if err := r.Text(&b); err != nil {
			t.Fatal(err)
		}
		cycle := "\nPFC deadlock: s0->s1, s1->s2, s2->s3, s3->s4, s4->s0 in class 3, since 0.09435 ms\n"
		if len(r.Deadlocks) != 1 || !strings.Contains(b.String(), cycle) {
			t.Errorf("%s: deadlocks %v:\n%s", link, r.Deadlocks, &b)
		}
		if got := strings.HasSuffix(r.Verdict, "; since 94.35us it is part of a PFC deadlock"); got != part {
			t.Errorf("%s: %s", link, r.Verdict)
		}
	}
	if r := ask(t, paper(t, "pfc"), "s0->h0"); r.Deadlocks != nil {
		t.Errorf("deadlocks %v", r.Deadlocks)
	}
}

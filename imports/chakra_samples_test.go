package imports

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	chakrav1 "github.com/rackfab/rackfab/proto/rackfab/chakra/v1"
)

var rewrite = flag.Bool("rewrite", false, "write the traces in testdata")

// training returns the trace of a rank of a training with two stages of a pipeline, each on two ranks: ranks 0 and 1
// send activations to ranks 2 and 3, which send gradients back.
func training(rank int64) File {
	groups := groupsNode(1, `["[{"pg_name": "1", "ranks": [0, 1]}, {"pg_name": "2", "ranks": [2, 3]}]"]`)
	groups.Name = "## process_group:init ##"
	name := fmt.Sprintf("training.%d.et", rank)
	if rank < 2 {
		return etFile(name, groups,
			called("forward", compNode(2, 100, 1)),
			called("activations", sendNode(3, rank+2, 1e6, 1, 2)),
			called("gradients", recvNode(4, rank+2, 2)),
			called("backward", compNode(5, 200, 4)),
			called("all-reduce", collNode(6, 0, 8e6, "1", 5)),
			called("optimizer", compNode(7, 50, 6)))
	}
	return etFile(name, groups,
		called("activations", recvNode(2, rank-2, 1)),
		called("forward", compNode(3, 100, 1, 2)),
		called("backward", compNode(4, 200, 3)),
		called("gradients", sendNode(5, rank-2, 1e6, 2, 4)),
		called("all-reduce", collNode(6, 0, 8e6, "2", 4)),
		called("optimizer", compNode(7, 50, 6)))
}

func called(name string, n *chakrav1.Node) *chakrav1.Node {
	n.Name = name
	return n
}

// The traces in testdata, which the guide imports, are those of training. -rewrite writes them.
func TestChakraSamples(t *testing.T) {
	for rank := range int64(4) {
		f := training(rank)
		name := filepath.Join("testdata", f.Name)
		if *rewrite {
			if err := os.WriteFile(name, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(name); err != nil || !bytes.Equal(have, f.Data) {
			t.Errorf("%s: %v, or it differs: run the test with -rewrite", name, err)
		}
	}
}

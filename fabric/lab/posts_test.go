package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

const postsRack = `name: posts
duration: 200us
scheme: dcqcn
nics: {h0..h2: }
switches: {s0: }
links: [{endpoints: [h0..h2, s0], rate: 100Gbps, delay: 1us}]
commands:
`

// An entry with posts is one entry for each of them: the frames are the same.
func TestPostsAreCommandsOfTheirOwn(t *testing.T) {
	digests := map[string]bool{}
	for _, text := range []string{
		"  - {name: Q, verb: put, from: h0..h1, to: h2, at: 2us, posts: [[0us, 70KB], [3us, 1B], [50us, 9KB]]}\n",
		"  - {name: A, verb: put, from: h0..h1, to: h2, at: 2us, size: 70KB}\n" +
			"  - {name: B, verb: put, from: h0..h1, to: h2, at: 5us, size: 1B}\n" +
			"  - {name: C, verb: put, from: h0..h1, to: h2, at: 52us, size: 9KB}\n",
	} {
		s, err := scenariofile.Parse("posts", []byte(postsRack+text))
		if err != nil {
			t.Fatal(err)
		}
		run := measured(t, s)
		digests[run.Digest] = true
		for _, c := range run.Commands {
			if c.Completed != c.Commands || c.Bytes != 2*s.Commands[0].Bytes() && len(run.Commands) == 1 {
				t.Errorf("%+v", c)
			}
		}
	}
	if len(digests) != 1 {
		t.Errorf("digests %v", digests)
	}
}

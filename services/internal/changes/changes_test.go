package changes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Read returns every kind of change as Write wrote it. A burst keeps its class.
func TestChangesRoundTrip(t *testing.T) {
	text, _ := scenariofile.Builtin("pcn-16to2")
	s, err := scenariofile.Parse("pcn-16to2", text)
	if err != nil {
		t.Fatal(err)
	}
	source, classes := steering.New(s, 1), map[int]bool{}
	for range 500 {
		want := source.Change(5)
		got, err := Read(Write(&want).GetChange(), want.At)
		if err != nil {
			t.Fatalf("%+v: %v", want, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if want.Verb == topology.ChangeBurst {
			classes[int(want.Burst.Class)] = true
		}
	}
	if len(classes) < 2 {
		t.Errorf("bursts of classes %v", classes)
	}
}

// The lists of names of a change are short on the wire, as ranges, and are read as they were.
func TestRangesOfNames(t *testing.T) {
	var hosts []string
	for i := range 1000 {
		hosts = append(hosts, fmt.Sprintf("h%d", i))
	}
	for _, want := range []topology.Change{
		{Verb: topology.ChangeBurst, Burst: topology.BurstSpec{Name: "b", From: hosts, To: "r0", Flows: 4, Size: 16000, Class: topology.DataClass}},
		{Verb: topology.ChangeFreeze, Nodes: hosts},
		{Verb: topology.ChangeThaw, Nodes: hosts},
		{Verb: topology.ChangePost, Post: topology.PostSpec{Name: "p", Verb: "put", From: hosts[:500], To: hosts[500:], Size: 16000, Count: 1}},
	} {
		written := Write(&want)
		got, err := Read(written.GetChange(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if size := proto.Size(written); size >= 200 {
			t.Errorf("%s of 1,000 NICs: %d bytes, want fewer than 200", want.Verb, size)
		}
	}
}

// The transport of a post survives the wire. Without one it is RC, which is not written; an
// unknown one is refused.
func TestTransportOfPosts(t *testing.T) {
	post := func(transport rackfabv1.Transport) *rackfabv1.Change {
		return &rackfabv1.Change{Verb: &rackfabv1.Change_Post{Post: &rackfabv1.Post{
			Name: "U", Verb: rackfabv1.PostVerb_POST_VERB_SEND, From: "a", To: "b", SizeBytes: 1, Transport: transport,
		}}}
	}
	for transport, datagram := range map[rackfabv1.Transport]bool{
		rackfabv1.Transport_TRANSPORT_UNSPECIFIED: false, rackfabv1.Transport_TRANSPORT_RC: false, rackfabv1.Transport_TRANSPORT_UD: true,
	} {
		c, err := Read(post(transport), 0)
		written := Write(&c).GetChange().GetPost().GetTransport()
		if err != nil || c.Post.Datagram != datagram || (written == rackfabv1.Transport_TRANSPORT_UD) != datagram {
			t.Errorf("%s: %v, %+v, written %s", transport, err, c.Post, written)
		}
	}
	if _, err := Read(post(9), 0); err == nil {
		t.Error("transport 9 is accepted")
	}
}

// The error of an invalid change names every invalid field once, in its message too.
func TestEveryInvalidFieldIsNamed(t *testing.T) {
	for _, test := range []struct {
		change *rackfabv1.Change
		want   string
	}{
		{
			&rackfabv1.Change{Verb: &rackfabv1.Change_Burst{Burst: &rackfabv1.Burst{From: "h1..h0", FlowsPerSender: -1}}},
			"change.burst.from change.burst.to change.burst.flows_per_sender change.burst.size_bytes",
		},
		{
			&rackfabv1.Change{Verb: &rackfabv1.Change_Post{Post: &rackfabv1.Post{From: "h0", To: "h1", EveryPs: -1, Count: -1}}},
			"change.post.verb change.post.size_bytes change.post.every_ps change.post.count",
		},
		{&rackfabv1.Change{}, "change"},
	} {
		_, err := Read(test.change, 0)
		var fields []string
		for line := range strings.SplitSeq(status.Convert(err).Message(), "\n") {
			field, _, _ := strings.Cut(line, ": ")
			fields = append(fields, field)
		}
		if got := strings.Join(fields, " "); got != test.want || len(serve.Violations(err)) != len(fields) {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	faults := &scenariofile.Faults{List: []scenariofile.Fault{{Key: "change.link_down", What: "unknown link"}}}
	if got := status.Convert(Invalid(faults)).Message(); got != "change.link_down: unknown link" {
		t.Errorf("of a change that the scenario refuses: %s", got)
	}
}

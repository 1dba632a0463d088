package changes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
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

package changes

import (
	"testing"

	"google.golang.org/protobuf/proto"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// A change of any bytes is refused, or read, written and read again as the same.
func FuzzRead(f *testing.F) {
	for _, c := range []*rackfabv1.Change{
		{Verb: &rackfabv1.Change_Burst{Burst: &rackfabv1.Burst{Name: "b", From: "h0..h1", To: "r0", Volume: &rackfabv1.Burst_SizeBytes{SizeBytes: 7}}}},
		{Verb: &rackfabv1.Change_StopFlow{StopFlow: "F0"}},
		{Verb: &rackfabv1.Change_Freeze{Freeze: "h0..h3"}},
		{Verb: &rackfabv1.Change_Set{Set: &rackfabv1.Setting{Key: "s0.kmin", Value: "7KB"}}},
	} {
		data, err := proto.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c rackfabv1.Change
		if proto.Unmarshal(data, &c) != nil {
			return
		}
		change, err := Read(&c, 0)
		if err != nil {
			return
		}
		first := Write(&change)
		again, err := Read(first.GetChange(), 0)
		if err != nil {
			t.Fatalf("%v, written as %v: %v", &c, first, err)
		}
		if second := Write(&again); !proto.Equal(first, second) {
			t.Errorf("%v is read again as %v", first, second)
		}
	})
}

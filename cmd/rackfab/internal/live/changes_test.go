package live

import (
	"testing"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// The answer of a command that changes a rack says what changed.
func TestMadeSaysWhatChanged(t *testing.T) {
	for want, c := range map[string]*rackfabv1.Change{
		"incast":          {Verb: &rackfabv1.Change_Burst{Burst: &rackfabv1.Burst{Name: "incast"}}},
		"put-1":           {Verb: &rackfabv1.Change_Post{Post: &rackfabv1.Post{Name: "put-1"}}},
		"s0--s1 down":     {Verb: &rackfabv1.Change_LinkDown{LinkDown: "s0--s1"}},
		"s0--s1 up":       {Verb: &rackfabv1.Change_LinkUp{LinkUp: "s0--s1"}},
		"F0 stopped":      {Verb: &rackfabv1.Change_StopFlow{StopFlow: "F0"}},
		"h3 frozen":       {Verb: &rackfabv1.Change_Freeze{Freeze: "h3"}},
		"h3 thawed":       {Verb: &rackfabv1.Change_Thaw{Thaw: "h3"}},
		"s1.xoff = 100KB": {Verb: &rackfabv1.Change_Set{Set: &rackfabv1.Setting{Key: "s1.xoff", Value: "100KB"}}},
		"pcn for *":       {Verb: &rackfabv1.Change_Scheme{Scheme: &rackfabv1.SchemeChoice{Name: "pcn", Flows: "*"}}},
	} {
		if got := made(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

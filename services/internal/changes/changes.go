// Package changes converts changes between their wire form and the scenario. It
// checks only for faults that the wire form makes possible; package topology checks
// everything else.
package changes

import (
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Read returns the change that a client requests, to take effect at the given
// instant, which the caller has checked. The error is INVALID_ARGUMENT and names the
// field.
func Read(c *rackfabv1.Change, at unit.Time) (topology.Change, error) {
	out := topology.Change{At: at}
	switch verb := c.GetVerb().(type) {
	case *rackfabv1.Change_Burst:
		out.Verb = topology.ChangeBurst
		return out, readBurst(verb.Burst, &out.Burst)
	case *rackfabv1.Change_StopFlow:
		out.Verb, out.Flow = topology.ChangeStopFlow, verb.StopFlow
		return out, given("change.stop_flow", verb.StopFlow)
	case *rackfabv1.Change_LinkDown:
		out.Verb, out.Link = topology.ChangeLinkDown, verb.LinkDown
		return out, given("change.link_down", verb.LinkDown)
	case *rackfabv1.Change_LinkUp:
		out.Verb, out.Link = topology.ChangeLinkUp, verb.LinkUp
		return out, given("change.link_up", verb.LinkUp)
	case *rackfabv1.Change_Freeze:
		out.Verb = topology.ChangeFreeze
		return out, names("change.freeze", verb.Freeze, &out.Nodes)
	case *rackfabv1.Change_Thaw:
		out.Verb = topology.ChangeThaw
		return out, names("change.thaw", verb.Thaw, &out.Nodes)
	case *rackfabv1.Change_Set:
		out.Verb = topology.ChangeSet
		out.Set = topology.Setting{Key: verb.Set.GetKey(), Value: verb.Set.GetValue()}
		if strings.Contains(out.Set.Key, "=") {
			return out, serve.Invalid("change.set.key", "%q is no key, want NODE.KEY", out.Set.Key)
		}
		return out, given("change.set.key", out.Set.Key)
	case *rackfabv1.Change_Post:
		out.Verb = topology.ChangePost
		return out, readPost(verb.Post, &out.Post)
	case *rackfabv1.Change_Scheme:
		out.Verb = topology.ChangeScheme
		out.Scheme = topology.SchemeSpec{Name: verb.Scheme.GetName(), Flows: verb.Scheme.GetFlows()}
		if out.Scheme.Flows == "" {
			out.Scheme.Flows = topology.Everything
		}
		return out, given("change.scheme.name", out.Scheme.Name)
	}
	return out, serve.Invalid("change", "does nothing, want burst, stop_flow, link_down, link_up, freeze, thaw, set, post or scheme")
}

func given(field, text string) error {
	if text == "" {
		return serve.Invalid(field, "is missing")
	}
	return nil
}

func names(field, list string, out *[]string) (err error) {
	if *out, err = topology.Names(list); err != nil {
		return serve.Invalid(field, "%v", err)
	}
	return nil
}

func readBurst(b *rackfabv1.Burst, out *topology.BurstSpec) error {
	out.Name, out.To, out.Flows = b.GetName(), b.GetTo(), int(b.GetFlowsPerSender())
	if err := names("change.burst.from", b.GetFrom(), &out.From); err != nil {
		return err
	}
	if err := given("change.burst.to", out.To); err != nil {
		return err
	}
	if out.Flows < 0 {
		return serve.Invalid("change.burst.flows_per_sender", "%d, want at least 1", out.Flows)
	}
	out.Flows, out.Class = max(out.Flows, 1), topology.DataClass
	if b.TrafficClass != nil {
		if b.GetTrafficClass() >= fabric.Priorities {
			return serve.Invalid("change.burst.traffic_class", "%d, want 0 to %d", b.GetTrafficClass(), fabric.Priorities-1)
		}
		out.Class = fabric.Priority(b.GetTrafficClass())
	}
	if b.GetEndless() {
		out.Size = topology.Endless
		return nil
	}
	if out.Size = unit.Bytes(b.GetSizeBytes()); out.Size <= 0 {
		return serve.Invalid("change.burst.size_bytes", "%d, want at least 1, or endless", b.GetSizeBytes())
	}
	return nil
}

// Refused returns the error for a change that topology.Extend refuses:
// INVALID_ARGUMENT with one violation per fault.
func Refused(err error) error {
	return serve.InvalidFaults(err, "change", func(key string) string {
		switch key {
		case "change.at":
			return "at_ps"
		case "change.burst.size", "change.post.size":
			return key + "_bytes"
		case "change.post.every":
			return key + "_ps"
		case "change.burst.class":
			return "change.burst.traffic_class"
		}
		return key
	})
}

// Write returns the wire form of a change.
func Write(c *topology.Change) *rackfabv1.TimedChange {
	out := &rackfabv1.Change{}
	switch c.Verb {
	case topology.ChangeBurst:
		b := &rackfabv1.Burst{
			Name: c.Burst.Name, From: strings.Join(c.Burst.From, ","), To: c.Burst.To, FlowsPerSender: int32(c.Burst.Flows),
			Volume: &rackfabv1.Burst_SizeBytes{SizeBytes: int64(c.Burst.Size)},
		}
		if c.Burst.Size == topology.Endless {
			b.Volume = &rackfabv1.Burst_Endless{Endless: true}
		}
		if c.Burst.Class != topology.DataClass {
			class := uint32(c.Burst.Class)
			b.TrafficClass = &class
		}
		out.Verb = &rackfabv1.Change_Burst{Burst: b}
	case topology.ChangeStopFlow:
		out.Verb = &rackfabv1.Change_StopFlow{StopFlow: c.Flow}
	case topology.ChangeLinkDown:
		out.Verb = &rackfabv1.Change_LinkDown{LinkDown: c.Link}
	case topology.ChangeLinkUp:
		out.Verb = &rackfabv1.Change_LinkUp{LinkUp: c.Link}
	case topology.ChangeFreeze:
		out.Verb = &rackfabv1.Change_Freeze{Freeze: strings.Join(c.Nodes, ",")}
	case topology.ChangeThaw:
		out.Verb = &rackfabv1.Change_Thaw{Thaw: strings.Join(c.Nodes, ",")}
	case topology.ChangeSet:
		out.Verb = &rackfabv1.Change_Set{Set: &rackfabv1.Setting{Key: c.Set.Key, Value: c.Set.Value}}
	case topology.ChangePost:
		out.Verb = &rackfabv1.Change_Post{Post: writePost(&c.Post)}
	case topology.ChangeScheme:
		out.Verb = &rackfabv1.Change_Scheme{Scheme: &rackfabv1.SchemeChoice{Name: c.Scheme.Name, Flows: c.Scheme.Flows}}
	}
	return &rackfabv1.TimedChange{AtPs: int64(c.At), Change: out}
}

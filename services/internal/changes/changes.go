// Package changes converts changes between their wire form and the scenario. It
// checks only for faults that the wire form makes possible; package topology checks
// everything else.
package changes

import (
	"errors"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Read returns the change that a client requests, to take effect at the given
// instant, which the caller has checked. The error is INVALID_ARGUMENT and names every
// invalid field.
func Read(c *rackfabv1.Change, at unit.Time) (topology.Change, error) {
	out, r := topology.Change{At: at}, reader{}
	switch verb := c.GetVerb().(type) {
	case *rackfabv1.Change_Burst:
		out.Verb, out.Burst = topology.ChangeBurst, r.burst(verb.Burst)
	case *rackfabv1.Change_StopFlow:
		out.Verb, out.Flow = topology.ChangeStopFlow, r.text("change.stop_flow", verb.StopFlow)
	case *rackfabv1.Change_LinkDown:
		out.Verb, out.Link = topology.ChangeLinkDown, r.text("change.link_down", verb.LinkDown)
	case *rackfabv1.Change_LinkUp:
		out.Verb, out.Link = topology.ChangeLinkUp, r.text("change.link_up", verb.LinkUp)
	case *rackfabv1.Change_Freeze:
		out.Verb, out.Nodes = topology.ChangeFreeze, r.names("change.freeze", verb.Freeze)
	case *rackfabv1.Change_Thaw:
		out.Verb, out.Nodes = topology.ChangeThaw, r.names("change.thaw", verb.Thaw)
	case *rackfabv1.Change_Set:
		out.Verb = topology.ChangeSet
		out.Set = topology.Setting{Key: r.text("change.set.key", verb.Set.GetKey()), Value: verb.Set.GetValue()}
		r.check(!strings.Contains(out.Set.Key, "="), "change.set.key", "invalid key %q: want NODE.KEY", out.Set.Key)
	case *rackfabv1.Change_Post:
		out.Verb, out.Post = topology.ChangePost, r.post(verb.Post)
	case *rackfabv1.Change_Scheme:
		out.Verb = topology.ChangeScheme
		out.Scheme = topology.SchemeSpec{Name: r.text("change.scheme.name", verb.Scheme.GetName()), Flows: verb.Scheme.GetFlows()}
		if out.Scheme.Flows == "" {
			out.Scheme.Flows = topology.Everything
		}
	default:
		r.check(false, "change", "has no verb, want burst, stop_flow, link_down, link_up, freeze, thaw, set, post or scheme")
	}
	return out, serve.InvalidFields(r.invalid)
}

// reader gathers the invalid fields.
type reader struct{ invalid []serve.Violation }

func (r *reader) check(valid bool, field, format string, args ...any) {
	if !valid {
		r.invalid = append(r.invalid, serve.Violated(field, format, args...))
	}
}

func (r *reader) text(field, text string) string {
	r.check(text != "", field, "is missing")
	return text
}

func (r *reader) names(field, list string) []string {
	names, err := topology.Names(list)
	r.check(err == nil, field, "%v", err)
	return names
}

// count returns a number of which 0 means 1.
func (r *reader) count(field string, n int32) int {
	r.check(n >= 0, field, "%d, want at least 1", n)
	return max(int(n), 1)
}

func (r *reader) burst(b *rackfabv1.Burst) topology.BurstSpec {
	out := topology.BurstSpec{
		Name: b.GetName(), From: r.names("change.burst.from", b.GetFrom()), To: r.text("change.burst.to", b.GetTo()),
		Flows: r.count("change.burst.flows_per_sender", b.GetFlowsPerSender()), Size: unit.Bytes(b.GetSizeBytes()), Class: topology.DataClass,
	}
	if b.TrafficClass != nil {
		r.check(b.GetTrafficClass() < fabric.Priorities, "change.burst.traffic_class", "%d, want 0 to %d", b.GetTrafficClass(), fabric.Priorities-1)
		out.Class = fabric.Priority(b.GetTrafficClass())
	}
	r.check(out.Size > 0 || b.GetEndless(), "change.burst.size_bytes", "%d, want at least 1, or endless", b.GetSizeBytes())
	if b.GetEndless() {
		out.Size = topology.Endless
	}
	return out
}

// postVerbs maps the RDMA verbs to their names in a scenario.
var postVerbs = map[rackfabv1.PostVerb]string{
	rackfabv1.PostVerb_POST_VERB_WRITE: "put",
	rackfabv1.PostVerb_POST_VERB_READ:  "get",
	rackfabv1.PostVerb_POST_VERB_SEND:  "send",
}

func (r *reader) post(p *rackfabv1.Post) topology.PostSpec {
	verb, ok := postVerbs[p.GetVerb()]
	r.check(ok, "change.post.verb", "%s, want POST_VERB_WRITE, POST_VERB_READ or POST_VERB_SEND", p.GetVerb())
	r.check(p.GetSizeBytes() > 0, "change.post.size_bytes", "%d, want at least 1", p.GetSizeBytes())
	r.check(p.GetEveryPs() >= 0, "change.post.every_ps", "%d, want at least 0", p.GetEveryPs())
	_, known := rackfabv1.Transport_name[int32(p.GetTransport())]
	r.check(known, "change.post.transport", "%s, want TRANSPORT_RC or TRANSPORT_UD", p.GetTransport())
	return topology.PostSpec{
		Name: p.GetName(), Verb: verb, From: r.names("change.post.from", p.GetFrom()), To: r.names("change.post.to", p.GetTo()),
		Size: unit.Bytes(p.GetSizeBytes()), Count: r.count("change.post.count", p.GetCount()), Every: unit.Time(p.GetEveryPs()),
		Datagram: p.GetTransport() == rackfabv1.Transport_TRANSPORT_UD,
	}
}

// Invalid returns the error for a change that topology.Extend refuses:
// INVALID_ARGUMENT with one violation per fault.
func Invalid(err error) error {
	return serve.InvalidFaults(ofValue(err), "change", func(key string) string {
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

// ofValue moves the faults of settings that a changed value makes invalid, such as that of
// xon_offset below a new xoff, to the value, and names the settings.
func ofValue(err error) error {
	var faults *scenariofile.Faults
	if !errors.As(err, &faults) {
		return err
	}
	moved := *faults
	moved.List = slices.Clone(faults.List)
	for i := range moved.List {
		f := &moved.List[i]
		if setting, ok := strings.CutPrefix(f.Key, "change.set."); ok {
			f.Key, f.What = "change.set.value", setting+": "+f.What
		}
	}
	return &moved
}

// Write returns the wire form of a change.
func Write(c *topology.Change) *rackfabv1.TimedChange {
	out := &rackfabv1.Change{}
	switch c.Verb {
	case topology.ChangeBurst:
		out.Verb = &rackfabv1.Change_Burst{Burst: writeBurst(&c.Burst)}
	case topology.ChangeStopFlow:
		out.Verb = &rackfabv1.Change_StopFlow{StopFlow: c.Flow}
	case topology.ChangeLinkDown:
		out.Verb = &rackfabv1.Change_LinkDown{LinkDown: c.Link}
	case topology.ChangeLinkUp:
		out.Verb = &rackfabv1.Change_LinkUp{LinkUp: c.Link}
	case topology.ChangeFreeze:
		out.Verb = &rackfabv1.Change_Freeze{Freeze: topology.JoinNames(c.Nodes)}
	case topology.ChangeThaw:
		out.Verb = &rackfabv1.Change_Thaw{Thaw: topology.JoinNames(c.Nodes)}
	case topology.ChangeSet:
		out.Verb = &rackfabv1.Change_Set{Set: &rackfabv1.Setting{Key: c.Set.Key, Value: c.Set.Value}}
	case topology.ChangePost:
		out.Verb = &rackfabv1.Change_Post{Post: writePost(&c.Post)}
	case topology.ChangeScheme:
		out.Verb = &rackfabv1.Change_Scheme{Scheme: &rackfabv1.SchemeChoice{Name: c.Scheme.Name, Flows: c.Scheme.Flows}}
	}
	return &rackfabv1.TimedChange{AtPs: int64(c.At), Change: out}
}

func writeBurst(b *topology.BurstSpec) *rackfabv1.Burst {
	out := &rackfabv1.Burst{
		Name: b.Name, From: topology.JoinNames(b.From), To: b.To, FlowsPerSender: int32(b.Flows),
		Volume: &rackfabv1.Burst_SizeBytes{SizeBytes: int64(b.Size)},
	}
	if b.Size == topology.Endless {
		out.Volume = &rackfabv1.Burst_Endless{Endless: true}
	}
	if class := uint32(b.Class); b.Class != topology.DataClass {
		out.TrafficClass = &class
	}
	return out
}

func writePost(p *topology.PostSpec) *rackfabv1.Post {
	out := &rackfabv1.Post{
		Name: p.Name, From: topology.JoinNames(p.From), To: topology.JoinNames(p.To),
		SizeBytes: int64(p.Size), Count: int32(p.Count), EveryPs: int64(p.Every),
	}
	if p.Datagram {
		out.Transport = rackfabv1.Transport_TRANSPORT_UD
	}
	for verb, name := range postVerbs {
		if name == p.Verb {
			out.Verb = verb
		}
	}
	return out
}

package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Changes to a running NIC.

// Control applies a change at now.
func (n *NIC) Control(now unit.Time, c *fabric.Change, out *fabric.Out) {
	n.now = now
	valid := true
	switch c.Verb {
	case fabric.AddFlows:
		valid = n.extend(c.Flows)
	case fabric.StopFlow:
		if r, ok := n.qps.Flow(c.Flow); ok {
			r.Stop(now, out)
		}
	case fabric.LinkDown:
		n.linkDown(now, out)
	case fabric.LinkUp:
		if n.cable.Down {
			n.cable.Mend(now)
			if n.retry != nil {
				n.retry.Restore(now)
			}
			note(now, fabric.WentUp, out)
		}
	case fabric.Freeze, fabric.Thaw:
		n.freeze(now, c.Verb == fabric.Freeze, out)
	case fabric.Tune:
		if valid = n.tune(c); valid {
			out.Note(fabric.Note{Event: fabric.NewTuned(c.Key, c.Number()), At: now, Flow: fabric.NoFlow})
		}
	case fabric.Post:
		valid = n.addCommands(now, c)
	case fabric.Choose:
		valid = n.qps.SwitchSchemes(now, c, out)
	case fabric.Reroute, fabric.Mark:
		valid = false
	}
	if !valid {
		out.Note(fabric.Note{Event: fabric.NewInapplicable(c.Verb), At: now, Flow: fabric.NoFlow})
	}
}

// freeze makes the NIC stop or resume sending and receiving.
func (n *NIC) freeze(now unit.Time, frozen bool, out *fabric.Out) {
	switch {
	case n.frozen == frozen:
		return
	case frozen:
		note(now, fabric.Froze, out)
	default:
		note(now, fabric.Thawed, out)
	}
	n.frozen = frozen
}

func note(now unit.Time, kind fabric.Kind, out *fabric.Out) {
	out.Note(fabric.Note{Event: fabric.Event{Kind: kind}, At: now, Flow: fabric.NoFlow})
}

// tune changes a setting and reports whether the NIC has that setting.
func (n *NIC) tune(c *fabric.Change) bool {
	switch c.Key {
	case fabric.KeyAckEvery:
		n.cfg.AckEvery = int(c.Value)
	case fabric.KeyTimeout:
		n.cfg.Timeout = unit.Time(c.Value)
	case fabric.KeyControlRate:
		n.qps.Control.SetRate(c.Value)
	case fabric.KeyLoss, fabric.KeyCorrupt:
		return n.cable.Flaws.Set(c.Key, c.Share)
	default:
		return false
	}
	return true
}

// linkDown takes the link down. This ends all pauses, because the link partner loses its
// PFC state too.
func (n *NIC) linkDown(now unit.Time, out *fabric.Out) {
	if n.cable.Down {
		return
	}
	n.cable.Down = true
	note(now, fabric.WentDown, out)
	n.pauses.Clear(now, out)
	n.qps.Arbiter.Pause(now, n.pauses.Set())
}

// Fate returns the fate of an arriving frame on the link.
func (n *NIC) Fate(now unit.Time, _ fabric.Port, f *frame.Frame) fabric.Fate {
	return n.cable.Fate(now, f)
}

// lost reports whether an arriving frame is lost on the link or dropped by a frozen
// NIC. It counts and notes the drop.
func (n *NIC) lost(now unit.Time, f *frame.Frame, out *fabric.Out) bool {
	if n.retry == nil && !n.frozen && n.cable.Clear() {
		return false
	}
	fate := n.cable.Fate(now, f)
	if n.retry != nil && !n.retried(now, f, fate, out) {
		return true
	}
	reason := fate.Reason()
	switch {
	case fate != fabric.Whole:
		n.cable.Count(fate)
	case n.frozen:
		n.stats.FrozenDrops++
		reason = fabric.DropFrozen
	default:
		return false
	}
	out.Lost(fabric.Note{Event: fabric.NewDropped(f.Len(), reason), At: now, Flow: fabric.NoFlow, Trace: f.Trace}, f)
	return true
}

// retried passes an arriving frame through link-layer retry and reports whether the NIC handles
// it. A frozen NIC acknowledges nothing, so its link partner keeps the frame.
func (n *NIC) retried(now unit.Time, f *frame.Frame, fate fabric.Fate, out *fabric.Out) bool {
	if f.Sequence != 0 && (fate == fabric.Lost || fate == fabric.Damaged) {
		n.cable.Count(fate)
	}
	if n.frozen && fate == fabric.Whole && (f.Sequence != 0 || f.Class() == frame.ClassRetry) {
		f.Sequence = 0
		return false
	}
	return n.retry.Receive(now, f, fate, out)
}

// extend adds flows and reports whether all of them are valid and new.
func (n *NIC) extend(flows []FlowConfig) bool {
	for i := range flows {
		if validateFlow(&flows[i], n.cfg.Host) != nil || n.qps.Has(flows[i].ID) {
			return false
		}
	}
	return n.qps.AddFlows(flows) == nil
}

// addCommands adds connections, and commands that the host posts from now on. It reports
// whether all of them are valid. An invalid connection leaves the NIC unchanged.
func (n *NIC) addCommands(now unit.Time, c *fabric.Change) bool {
	for i := range c.Connections {
		if n.qps.Has(c.Connections[i].ID) || n.cfg.validateConnection(&c.Connections[i]) != nil {
			return false
		}
	}
	if !n.addConnections(now, c.Connections) {
		return false
	}
	valid := true
	for _, w := range c.Works {
		valid = n.post(now, w) && valid
	}
	return valid
}

// post adds commands that the host posts from now on and reports whether they are valid.
func (n *NIC) post(now unit.Time, w fabric.Work) bool {
	return n.qps.Engine.Post(PostConfig{Connection: w.Connection, Series: work.Series{
		Command: work.Command{ID: w.ID, Verb: work.Verb(w.Verb), Size: w.Size, Counter: -1},
		At:      now, Every: w.Every, Count: w.Count,
	}}) == nil
}

// addConnections adds this host's ends of connections and reports whether all were added. The
// first connections create the engine's units.
func (n *NIC) addConnections(now unit.Time, list []ConnectionConfig) bool {
	if len(list) == 0 {
		return true
	}
	if !n.qps.Engine.Ready() {
		first := n.cfg
		first.Connections = list
		if first.validateEngine() != nil {
			return false
		}
		n.qps.Engine = first.newEngine(now, &n.qps.Device)
	}
	return n.qps.Connect(list) == nil
}

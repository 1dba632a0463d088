package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
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
		if i, ok := n.sending.Find(c.Flow); ok {
			n.dev.Flows[i].Stop(now, out)
		}
	case fabric.LinkDown:
		n.linkDown(now, out)
	case fabric.LinkUp:
		if n.cable.Down {
			n.cable.Mend(now)
			n.note(now, fabric.WentUp, out)
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
		valid = n.choose(now, c, out)
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
		n.note(now, fabric.Froze, out)
	default:
		n.note(now, fabric.Thawed, out)
	}
	n.frozen = frozen
}

func (n *NIC) note(now unit.Time, kind fabric.Kind, out *fabric.Out) {
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
		n.dev.Control.SetRate(c.Value)
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
	n.note(now, fabric.WentDown, out)
	n.pauses.Clear(now, out)
	n.engine.Pause(now, n.pauses.Set())
}

// Fate returns the fate of an arriving frame on the link.
func (n *NIC) Fate(now unit.Time, _ fabric.Port, f *frame.Frame) fabric.Fate {
	return n.cable.Fate(now, f)
}

// lost reports whether an arriving frame is lost on the link or dropped by a frozen
// NIC. It counts and notes the drop.
func (n *NIC) lost(now unit.Time, f *frame.Frame, out *fabric.Out) bool {
	fate := n.cable.Fate(now, f)
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

// extend adds flows and reports whether all of them are valid and new.
func (n *NIC) extend(flows []FlowConfig) bool {
	for i := range flows {
		f := &flows[i]
		_, sends := n.sending.Find(f.ID)
		_, receives := n.receiving.Find(f.ID)
		connection, _ := n.engine.Sender(f.ID)
		if validateFlow(f, n.cfg.Host) != nil || sends || receives || connection != nil {
			return false
		}
	}
	return n.addFlows(flows) == nil
}

// choose switches pairs of hosts to a scheme, and reports whether that is possible.
func (n *NIC) choose(now unit.Time, c *fabric.Change, out *fabric.Out) bool {
	if !n.dev.Choose(c) {
		return false
	}
	for _, r := range n.receivers {
		r.SwitchScheme()
	}
	for _, s := range n.senders {
		s.SwitchScheme(now, out)
	}
	return true
}

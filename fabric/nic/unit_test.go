package nic

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// order returns the connections of host 0's data packets in the order of transmission,
// such as "0110".
func (b *fabricBench) order() string {
	var order strings.Builder
	for _, f := range b.from(0, isData) {
		order.WriteString(strconv.Itoa(f.DstIP().Host() - 1))
	}
	return order.String()
}

// urgent returns a PUT of the given urgency.
func urgent(id uint32, size unit.Bytes, rank int64) work.Command {
	c := put(id, size)
	c.Rank = rank
	return c
}

// GET-47: the policy decides between units by figures that the NIC has: in turn, by the
// waiting bytes, by the urgency of the command being cut, or by the outstanding packets.
// Connection 0 has 3 packets of 1000 bytes in flight and 3 more to send; connection 1 has
// 5 to send. The link is busy while both are posted.
func TestUnitPolicies(t *testing.T) {
	for policy, want := range map[shaper.Policy]string{
		shaper.RoundRobin:   "000" + "10101011",
		shaper.ByLoad:       "000" + "11" + "010101",
		shaper.ByPriority:   "000" + "000" + "11111",
		shaper.Availability: "000" + "111" + "01010",
	} {
		b := newExchange(t, 2, func(c *Config) { c.Engine.Policy = policy })
		b.post(0, put(0, 3000))
		b.run(500 * unit.Nanosecond)
		b.post(0, urgent(1, 3000, 7))
		b.post(1, urgent(2, 5000, 2))
		b.run(9 * us) // before the first ACK
		if got := b.order(); got != want {
			t.Errorf("%s: packets of the connections leave as %s, want %s", policy, got, want)
		}
	}
}

// GET-39: a unit serves one flow queue until it is empty, and then the next one that waits
// for a unit. With one unit, connections take turns by whole queues. With two units, the
// third connection waits for the first one to finish.
func TestUnitServesOneFlowQueue(t *testing.T) {
	for units, want := range map[int]string{
		1: "00" + "11" + "22",
		2: "01" + "01" + "22",
		3: "01" + "20" + "12",
	} {
		b := newExchange(t, 3, func(c *Config) { c.Engine.Units = units })
		for id := range uint32(6) {
			b.post(fabric.FlowID(id/2), put(id, 1000))
		}
		b.run(unit.Millisecond)
		if got := b.order(); got != want {
			t.Errorf("%d units: packets of the connections leave as %s, want %s", units, got, want)
		}
	}
}

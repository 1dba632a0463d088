package scenariofile

import (
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// unlessDefault omits all keys if all settings have their defaults: most NICs have no
// commands.
func unlessDefault(fields []field[topology.EngineSettings]) []field[topology.EngineSettings] {
	def := topology.DefaultEngine()
	fields = slices.Clone(fields)
	for i := range fields {
		write := fields[i].write
		fields[i].write = func(e *topology.EngineSettings) *yaml.Node {
			if reflect.DeepEqual(*e, def) {
				return nil
			}
			return write(e)
		}
	}
	return fields
}

// engineFields are the settings of a NIC that concern commands.
var engineFields = []field[topology.EngineSettings]{
	of("absorb", "rate at which the host absorbs received data, 0 for the rate of the link", rates.from(0, fastest), func(e *topology.EngineSettings) *unit.Rate { return &e.Absorb }),
	of("rx_buffer", "receive buffer of a host that absorbs more slowly than its link, 0 for rx_xoff plus headroom", sizes.from(0, 64*unit.Megabyte), func(e *topology.EngineSettings) *unit.Bytes { return &e.Buffer }),
	of("rx_xoff", "occupancy of the receive buffer above which the NIC sends PAUSE, 0 for 1us at link rate", sizes.from(0, 64*unit.Megabyte), func(e *topology.EngineSettings) *unit.Bytes { return &e.XOFF }),
	of("rx_xon_offset", "how far the occupancy must fall below the threshold before RESUME is sent", sizes.from(1, 64*unit.Megabyte), func(e *topology.EngineSettings) *unit.Bytes { return &e.XON }),
	of("rx_quanta", "pause time of the NIC's PAUSE frames in units of 512 bit times", integer[uint16](1, 65535), func(e *topology.EngineSettings) *uint16 { return &e.Quanta }),
	of("pacing", "pacing of data requests: off, by token buckets for the responses (bucket), or by outstanding responses", oneOf(shaper.PacingOff, shaper.PacingBucket, shaper.PacingOutstanding), func(e *topology.EngineSettings) *shaper.Pacing { return &e.Pacing }),
	of("pacing_rate", "rate of requested responses, 0 for the rate that the host absorbs", rates.from(0, fastest), func(e *topology.EngineSettings) *unit.Rate { return &e.Rate }),
	of("pacing_burst", "depth of the IN buckets", sizes.from(1, 64*unit.Megabyte), func(e *topology.EngineSettings) *unit.Bytes { return &e.Burst }),
	of("pacing_gate", "tokens needed to request a response: full is enough for all of it, credit is any", oneOf(shaper.GateFull, shaper.GateCredit), func(e *topology.EngineSettings) *shaper.Gate { return &e.Gate }),
	of("pacing_header", "header length assumed for response packets", sizes.from(0, 1000), func(e *topology.EngineSettings) *unit.Bytes { return &e.Length.Header }),
	of("pacing_payload_scale", "factor of the payload in the assumed length of response packets", integer[int](1, command.MaxScale), func(e *topology.EngineSettings) *int { return &e.Length.Scale }),
	of("pacing_payload_shift", "power of 2 that divides the payload in the assumed length of response packets", integer[int](0, command.MaxShift), func(e *topology.EngineSettings) *int { return &e.Length.Shift }),
	of("pacing_outstanding", "pacing outstanding: limit of outstanding responses, 0 for none", sizes.from(0, largest), func(e *topology.EngineSettings) *unit.Bytes { return &e.Outstanding }),
	of("pacing_period_bytes", "pacing outstanding: limit of responses requested in a period, 0 for none", sizes.from(0, largest), func(e *topology.EngineSettings) *unit.Bytes { return &e.PeriodBytes }),
	of("pacing_period", "pacing outstanding: the period", times.from(0, longest), func(e *topology.EngineSettings) *unit.Time { return &e.Period }),
	of("out_rate", "TX rate of commands and responses, 0 for no limit", rates.from(0, fastest), func(e *topology.EngineSettings) *unit.Rate { return &e.OutRate }),
	of("out_burst", "depth of the OUT buckets", sizes.from(1, 64*unit.Megabyte), func(e *topology.EngineSettings) *unit.Bytes { return &e.OutBurst }),
	of("unit_policy", "arbitration between the units of a class: round robin, longest queue, highest urgency, or fewest outstanding packets", oneOf(shaper.Policies...), func(e *topology.EngineSettings) *shaper.Policy { return &e.Policy }),
	of("get_limit", "outstanding data requests per unit", integer[int](1, 2047), func(e *topology.EngineSettings) *int { return &e.GetLimit }),
	of("put_limit", "outstanding other packets per unit", integer[int](1, 2047), func(e *topology.EngineSettings) *int { return &e.PutLimit }),
	of("sub_request", "data per request, 0 for the payload of one response packet", sizes.from(0, unit.Megabyte), func(e *topology.EngineSettings) *unit.Bytes { return &e.SubRequest }),
	of("units", "chopping units", integer[int](1, shaper.MaxUnits-1), func(e *topology.EngineSettings) *int { return &e.Units }),
	of("response_units", "units for responses", integer[int](1, shaper.MaxUnits-1), func(e *topology.EngineSettings) *int { return &e.ResponseUnits }),
	of("flow_queues", "flow queues", integer[int](1, 4096), func(e *topology.EngineSettings) *int { return &e.FlowQueues }),
	of("flow_slots", "capacity of a flow queue in commands", integer[int](1, 1<<16), func(e *topology.EngineSettings) *int { return &e.FlowSlots }),
	of("command_slots", "capacity of a command queue in commands", integer[int](1, 1<<20), func(e *topology.EngineSettings) *int { return &e.CommandSlots }),
	of("retries", "retransmissions of a request before its connection fails, 0 for no limit", integer[int](0, 255), func(e *topology.EngineSettings) *int { return &e.Retries }),
	of("shaping", "shares of single traffic classes of commands; at most five, as in the hardware", shaping, func(e *topology.EngineSettings) *[]topology.ShapingSettings { return &e.Shaping }),
}

var shapingFields = []field[topology.ShapingSettings]{
	required(of("class", "traffic class", integer[fabric.Priority](0, classes), func(c *topology.ShapingSettings) *fabric.Priority { return &c.Class })),
	of("out_share", "guaranteed share of the NIC's TX rate in percent", integer[int](0, 100), func(c *topology.ShapingSettings) *int { return &c.OutShare }),
	of("out_ceiling", "maximum share of the NIC's TX rate in percent", integer[int](1, 100), func(c *topology.ShapingSettings) *int { return &c.OutCeiling }),
	of("in_share", "guaranteed share of the responses in percent", integer[int](0, 100), func(c *topology.ShapingSettings) *int { return &c.InShare }),
	of("in_ceiling", "maximum share of the responses in percent", integer[int](1, 100), func(c *topology.ShapingSettings) *int { return &c.InCeiling }),
	of("weight", "weight of requests among equally urgent ones", integer[int](1, maxWeight), func(c *topology.ShapingSettings) *int { return &c.Weight }),
	of("response_weight", "weight of responses among equally urgent ones", integer[int](1, maxWeight), func(c *topology.ShapingSettings) *int { return &c.ResponseWeight }),
	of("urgency", "urgency of requests; higher values go first", integer[int](0, 7), func(c *topology.ShapingSettings) *int { return &c.Urgency }),
	of("response_urgency", "urgency of responses; higher values go first", integer[int](0, 7), func(c *topology.ShapingSettings) *int { return &c.ResponseUrgency }),
}

// shaping is the list of classes with shares of their own.
var shaping = list(
	array{want: fmt.Sprintf("a list of at most %d classes, like [{class: 3, out_ceiling: 50}]", maxShaping), max: maxShaping},
	object(shapingFields, topology.DefaultShaping()),
	func(s topology.ShapingSettings) string { return classLabel(s.Class) })

// maxShaping is the number of branches in the hardware.
const maxShaping = 5

package topology

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// commandForm is one entry of commands.
type commandForm struct {
	Command
	from, to []string
}

func newCommandForm() commandForm {
	return commandForm{Command: Command{Verb: "get", Count: 1, Class: DataClass, Size: 8}}
}

var commandFields = []field[commandForm]{
	fixed(need(nameField("name", "name of the commands", func(c *commandForm) *string { return &c.Name }))),
	choiceField("verb", "what they ask for: put writes, get reads, send is a message, fetch-add and compare-swap change a word; append and search are for the NIC's own lists",
		verbs(), func(c *commandForm) *string { return &c.Verb }),
	need(namesField("from", "NICs whose hosts post them", func(c *commandForm) *[]string { return &c.from })),
	omitEmpty(namesField("to", "NICs that they are for; append and search have none", func(c *commandForm) *[]string { return &c.to }),
		func(c *commandForm) *[]string { return &c.to }),
	quantityField(sizes, "size", "bytes of each; an atomic has 8", 1, 1<<31, func(c *commandForm) *unit.Bytes { return &c.Size }),
	integerField("count", "how many from each NIC to each other", 1, 1<<20, func(c *commandForm) *int { return &c.Count }),
	quantityField(spans, "at", "when the first is posted", 0, longest, func(c *commandForm) *unit.Time { return &c.At }),
	quantityField(spans, "every", "how much later each further one is posted, 0 for all at once", 0, longest, func(c *commandForm) *unit.Time { return &c.Every }),
	integerField("class", "traffic class of requests and responses", 0, classes, func(c *commandForm) *fabric.Priority { return &c.Class }),
	integerField("address", "where in the target's memory; an atomic wants a multiple of 8", 0, 1<<40, func(c *commandForm) *uint64 { return &c.Address }),
	integerField("operand", "what an atomic adds or swaps in", 0, 1<<64-1, func(c *commandForm) *uint64 { return &c.Operand }),
	integerField("expected", "what the word must hold for compare-swap", 0, 1<<64-1, func(c *commandForm) *uint64 { return &c.Expected }),
	integerField("urgency", "what arbitration by priority goes by; the higher one goes first", 0, 7, func(c *commandForm) *int { return &c.Urgency }),
	omitZero(nameField("after", "commands that stand above and must be complete at the same NIC first", func(c *commandForm) *string { return &c.After }),
		func(c *commandForm) *string { return &c.After }),
}

// omitEmpty omits the key if its list is empty.
func omitEmpty[T any](f field[T], at func(*T) *[]string) field[T] {
	write := f.write
	f.write = func(t *T) *yaml.Node {
		if len(*at(t)) == 0 {
			return nil
		}
		return write(t)
	}
	return f
}

// unlessDefault omits all keys if all settings have their defaults: most NICs have no
// commands.
func unlessDefault(fields []field[EngineSettings]) []field[EngineSettings] {
	def := DefaultEngine()
	fields = slices.Clone(fields)
	for i := range fields {
		write := fields[i].write
		fields[i].write = func(e *EngineSettings) *yaml.Node {
			if reflect.DeepEqual(*e, def) {
				return nil
			}
			return write(e)
		}
	}
	return fields
}

// engineFields are the settings of a NIC that concern commands.
var engineFields = []field[EngineSettings]{
	quantityField(rates, "absorb", "rate at which the host takes in what arrives, 0 for that of the link", 0, fastest, func(e *EngineSettings) *unit.Rate { return &e.Absorb }),
	quantityField(sizes, "rx_buffer", "receive buffer of a host that absorbs more slowly than its link, 0 for what comes in up to and after PAUSE", 0, 64*unit.Megabyte, func(e *EngineSettings) *unit.Bytes { return &e.Buffer }),
	quantityField(sizes, "rx_xoff", "occupancy of the receive buffer above which the NIC sends PAUSE, 0 for what the link carries in 1us", 0, 64*unit.Megabyte, func(e *EngineSettings) *unit.Bytes { return &e.XOFF }),
	quantityField(sizes, "rx_xon_offset", "how far the occupancy must fall below the threshold for RESUME", 1, 64*unit.Megabyte, func(e *EngineSettings) *unit.Bytes { return &e.XON }),
	integerField("rx_quanta", "pause time of a PAUSE frame of the NIC in units of 512 bit times", 1, 65535, func(e *EngineSettings) *uint16 { return &e.Quanta }),
	choiceField("pacing", "what holds data requests back: off is nothing, bucket is tokens for the responses, outstanding is the responses that are not in",
		[]shaper.Pacing{shaper.PacingOff, shaper.PacingBucket, shaper.PacingOutstanding}, func(e *EngineSettings) *shaper.Pacing { return &e.Pacing }),
	quantityField(rates, "pacing_rate", "rate of the responses that are asked for, 0 for what the NIC absorbs", 0, fastest, func(e *EngineSettings) *unit.Rate { return &e.Rate }),
	quantityField(sizes, "pacing_burst", "depth of the IN buckets", 1, 64*unit.Megabyte, func(e *EngineSettings) *unit.Bytes { return &e.Burst }),
	choiceField("pacing_gate", "when a response may be asked for: full is tokens for all of it, credit is any tokens",
		[]shaper.Gate{shaper.GateFull, shaper.GateCredit}, func(e *EngineSettings) *shaper.Gate { return &e.Gate }),
	quantityField(sizes, "pacing_header", "header of a response packet as its length is computed", 0, 1000, func(e *EngineSettings) *unit.Bytes { return &e.Length.Header }),
	integerField("pacing_payload_scale", "how many times the payload of a response packet counts in its length", 1, command.MaxScale, func(e *EngineSettings) *int { return &e.Length.Scale }),
	integerField("pacing_payload_shift", "power of 2 that divides the payload of a response packet in its length", 0, command.MaxShift, func(e *EngineSettings) *int { return &e.Length.Shift }),
	quantityField(sizes, "pacing_outstanding", "pacing outstanding: responses that may be asked for and not in, 0 for any", 0, largest, func(e *EngineSettings) *unit.Bytes { return &e.Outstanding }),
	quantityField(sizes, "pacing_period_bytes", "pacing outstanding: responses that may be asked for in a period, 0 for any", 0, largest, func(e *EngineSettings) *unit.Bytes { return &e.PeriodBytes }),
	quantityField(spans, "pacing_period", "pacing outstanding: the period", 0, longest, func(e *EngineSettings) *unit.Time { return &e.Period }),
	quantityField(rates, "out_rate", "rate of what commands and responses send, 0 for no limit", 0, fastest, func(e *EngineSettings) *unit.Rate { return &e.OutRate }),
	quantityField(sizes, "out_burst", "depth of the OUT buckets", 1, 64*unit.Megabyte, func(e *EngineSettings) *unit.Bytes { return &e.OutBurst }),
	choiceField("unit_policy", "whose packet goes next among the units of a class: in turn, the one with most waiting, the most urgent, or the one with fewest packets outstanding",
		shaper.Policies, func(e *EngineSettings) *shaper.Policy { return &e.Policy }),
	integerField("get_limit", "data requests that a unit may have outstanding", 1, 2047, func(e *EngineSettings) *int { return &e.GetLimit }),
	integerField("put_limit", "other packets that a unit may have outstanding", 1, 2047, func(e *EngineSettings) *int { return &e.PutLimit }),
	quantityField(sizes, "sub_request", "data that one request asks for, 0 for what one response packet carries", 0, unit.Megabyte, func(e *EngineSettings) *unit.Bytes { return &e.SubRequest }),
	integerField("units", "chopping units that cut commands", 1, shaper.MaxUnits-1, func(e *EngineSettings) *int { return &e.Units }),
	integerField("response_units", "units that send responses", 1, shaper.MaxUnits-1, func(e *EngineSettings) *int { return &e.ResponseUnits }),
	integerField("flow_queues", "flow queues", 1, 4096, func(e *EngineSettings) *int { return &e.FlowQueues }),
	integerField("flow_slots", "commands that a flow queue holds", 1, 1<<16, func(e *EngineSettings) *int { return &e.FlowSlots }),
	integerField("command_slots", "commands that a command queue holds", 1, 1<<20, func(e *EngineSettings) *int { return &e.CommandSlots }),
	integerField("retries", "how often a request is sent again before its connection fails, 0 for no limit", 0, 255, func(e *EngineSettings) *int { return &e.Retries }),
	shapingField(),
}

var shapingFields = []field[ShapingSettings]{
	need(integerField("class", "traffic class", 0, classes, func(c *ShapingSettings) *fabric.Priority { return &c.Class })),
	integerField("out_share", "percent of what the NIC sends that the class is assured of", 0, 100, func(c *ShapingSettings) *int { return &c.OutShare }),
	integerField("out_ceiling", "percent of what the NIC sends that the class may have", 1, 100, func(c *ShapingSettings) *int { return &c.OutCeiling }),
	integerField("in_share", "percent of the responses that the class is assured of", 0, 100, func(c *ShapingSettings) *int { return &c.InShare }),
	integerField("in_ceiling", "percent of the responses that the class may have", 1, 100, func(c *ShapingSettings) *int { return &c.InCeiling }),
	integerField("weight", "share of requests among what is equally urgent", 1, maxWeight, func(c *ShapingSettings) *int { return &c.Weight }),
	integerField("response_weight", "the same of responses", 1, maxWeight, func(c *ShapingSettings) *int { return &c.ResponseWeight }),
	integerField("urgency", "urgency of requests; the higher one goes first", 0, 7, func(c *ShapingSettings) *int { return &c.Urgency }),
	integerField("response_urgency", "the same of responses", 0, 7, func(c *ShapingSettings) *int { return &c.ResponseUrgency }),
}

// shapingField is the list of classes with shares of their own.
func shapingField() field[EngineSettings] {
	return field[EngineSettings]{
		meta:   meta{key: "shaping", doc: "traffic classes of commands with shares of their own; at most five, as in the hardware"},
		schema: schema{"type": "array", "maxItems": maxShaping, "items": section(shapingFields, DefaultShaping())},
		read: func(e *EngineSettings, n *yaml.Node) error {
			if n.Kind != yaml.SequenceNode || len(n.Content) > maxShaping {
				return fmt.Errorf("want a list of at most %d classes, like [{class: 3, out_ceiling: 50}]", maxShaping)
			}
			var list []ShapingSettings
			for _, item := range n.Content {
				one := DefaultShaping()
				var c collector
				readSection(&c, item, "", shapingFields, &one, newSource("", item.Line))
				for _, f := range c.list {
					return errors.New(f.Key + ": " + f.What)
				}
				for _, other := range list {
					if other.Class == one.Class {
						return fmt.Errorf("class %d comes twice", one.Class)
					}
				}
				list = append(list, one)
			}
			e.Shaping = list
			return nil
		},
		write: func(e *EngineSettings) *yaml.Node {
			list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for i := range e.Shaping {
				list.Content = append(list.Content, written(shapingFields, &e.Shaping[i]))
			}
			return list
		},
	}
}

// maxShaping is the number of branches in the hardware.
const maxShaping = 5

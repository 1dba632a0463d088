package scenariofile

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// routing is a choice among ports of equal cost.
var routing = mapped(oneOf(balance.Names...),
	func(name string) balance.Choice {
		choice, _ := balance.Named(name) // oneOf has checked it
		return choice
	}, balance.Choice.String)

// balancing has the default parameters of the choices. Keys with these values are omitted.
var balancing = balance.Default()

// routingFields are the settings of a switch's choice among ports of equal cost.
var routingFields = []field[topology.SwitchSettings]{
	live(fabric.KeyRouting, of("routing", "choice among ports of equal cost for packets with data, or that request data: ecmp by the flow; spray in turn, random, adaptive by the shortest queue and drill by three of the queues, for each packet; flowlet at random for each flowlet",
		routing.omit(isZero), func(s *topology.SwitchSettings) *balance.Choice { return &s.Routing })),
	live(fabric.KeyFlowletGap, cite("simulator of ConWeave, SIGCOMM 2023: letflow_flowletTimeout",
		of("flowlet_gap", "routing flowlet: idle time of a flow after which its next packet starts a flowlet", times.from(0, longest).omit(equals(balancing.Gap)), func(s *topology.SwitchSettings) *unit.Time { return &s.Balance.Gap }))),
	cite("own; CONGA, SIGCOMM 2014, has 64K",
		of("flowlet_entries", "routing flowlet: capacity of the table; flows whose hashes share an entry share its flowlets", integer[int](1, balance.MaxEntries).omit(equals(balancing.Entries)), func(s *topology.SwitchSettings) *int { return &s.Balance.Entries })),
	live(fabric.KeyAdaptiveLevels, cite("htsim: quantized_queuesize",
		of("adaptive_levels", "routing adaptive: number of levels of queues", integer[int](2, balance.MaxLevels).omit(equals(balancing.Levels)), func(s *topology.SwitchSettings) *int { return &s.Balance.Levels }))),
	live(fabric.KeyAdaptiveStep, cite("own: 5% of 100KB, the share as in htsim",
		of("adaptive_step", "routing adaptive: queue length from which the level is 1; the threshold of each further level is twice that of the one before", sizes.from(1, largest).omit(equals(balancing.Step)), func(s *topology.SwitchSettings) *unit.Bytes { return &s.Balance.Step }))),
	live(fabric.KeyDetection, of("detection", "time after which the switch takes a link that went down out of its routes, and one that came up into them; until then it sends into the dead link, which loses the frames",
		times.from(0, longest).omit(isZero), func(s *topology.SwitchSettings) *unit.Time { return &s.Detection })),
}

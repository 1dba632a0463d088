package topology

import (
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// DefaultEngine returns the default settings of a NIC's engine. The values of the
// hardware come from the driver and the register map that HPE published for Cassini.
func DefaultEngine() EngineSettings {
	return EngineSettings{
		XON:    3072, // the same as at a switch
		Quanta: 65535,
		Pacing: shaper.PacingBucket, Gate: shaper.GateFull, Policy: shaper.RoundRobin,
		Burst: 4 * 2111, // for a leaf: four frames of the NIC's own protocol
		// For the root: eight Ethernet frames.
		OutBurst: 8 * 9022,
		Length:   command.Length{Header: 40, Scale: 1}, // register of the response length
		GetLimit: 64, PutLimit: 64,
		Units: 48, ResponseUnits: 24, FlowQueues: 48,
		FlowSlots: 16, CommandSlots: 1024,
		// For the outstanding limiter: one bandwidth-delay product of 200 Gbit/s and
		// 4 us.
		Outstanding: 100 * unit.Kilobyte,
	}
}

// Response returns the length in bytes of the response to the largest data request of
// a NIC, as its shaper counts it.
func (e *EngineSettings) Response(payload unit.Bytes) unit.Bytes {
	payload = payload / 4 * 4
	cutter := command.Cutter{Payload: max(payload, 1), SubRequest: e.SubRequest, Length: e.Length}
	if cutter.SubRequest == 0 {
		cutter.SubRequest = cutter.Payload
	}
	_, length := cutter.Answer(cutter.SubRequest)
	return length
}

// Intake returns the receive buffer of a NIC behind that link, and the occupancies at
// which it sends PAUSE and RESUME.
func (e *EngineSettings) Intake(l Link) (buffer, xoff, xon unit.Bytes) {
	buffer, xoff = e.Buffer, e.XOFF
	if xoff == 0 {
		xoff = max(l.Rate.In(unit.Microsecond), 2*l.MTU)
	}
	if buffer == 0 {
		buffer = xoff + NeededHeadroom(l)
	}
	return buffer, xoff, max(0, xoff-e.XON)
}

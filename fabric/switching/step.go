package switching

import "github.com/rackfab/rackfab/fabric/unit"

// StepConfig holds the threshold of the step law: K bytes of the egress queue. If Per is
// above 0, K applies to a port of that rate and scales with the port's rate.
type StepConfig struct {
	K   unit.Bytes
	Per unit.Rate
}

// at returns the threshold of a port in bytes. Above it, every frame is marked (DCTCP,
// SIGCOMM'10, §3.1; RFC 8257 §3.1). As under RED, the queue is measured when the frame has
// left it.
func (s *StepConfig) at(port unit.Rate) unit.Bytes {
	if s.Per == 0 {
		return s.K
	}
	return unit.Bytes(float64(s.K) * (float64(port) / float64(s.Per)))
}

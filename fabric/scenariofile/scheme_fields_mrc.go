package scenariofile

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Selective repeat over several paths.
var mrcFields = []field[cc.MRCParams]{
	cite("uet-htsim, main_uec.cpp 697 and uec.h", of("rto", "timeout of a packet; 0 is 15 us and six times the time that a full queue takes, 1 base RTT with trimming and 5 without, at least 100 us", times.from(0, longest), func(p *cc.MRCParams) *unit.Time { return &p.RTO })),
	cite("own: as many as it takes", of("retries", "timeouts in a row after which a flow fails, 0 for no limit", integer[int](0, 255), func(p *cc.MRCParams) *int { return &p.Retries })),
	cite("uet-htsim, uec.cpp 79 to 83: SLEEK is off", of("loss", "lost packets besides timeouts: those that a NAK reports as trimmed, or also those below many packets that arrived out of order (SLEEK)", oneOf(cc.LossTrimmed, cc.LossSLEEK), func(p *cc.MRCParams) *cc.Loss { return &p.Loss })),
	cite("own: 16 bandwidth-delay products of 400 Gbit/s and 10 us; descriptions of MRC 1.0: a multiple of 128", of("psn_window", "largest distance in packets from the oldest to the newest packet in flight, a multiple of 128", integer[int](128, 1<<16), func(p *cc.MRCParams) *int { return &p.Window })),
	cite("uet-htsim, uec.cpp 22", of("ack_bytes", "payload that one ACK acknowledges if nothing else requests one; replaces ack_every", sizes.from(1, largest), func(p *cc.MRCParams) *unit.Bytes { return &p.AckBytes })),
}

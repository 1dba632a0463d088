package qp

import (
	"github.com/rackfab/rackfab/fabric/unit"
)

// sleek is the loss detection of SLEEK in uet-htsim (uec.cpp, runSleek): if the receiver holds
// more packets out of order than a window is likely to, all packets sent so far that are not
// acknowledged are lost, each once. That ends when they have arrived.
type sleek struct {
	most   unit.Bytes // the largest window; 0 disables the rule
	target int64      // the packets below it were sent before the loss was detected
	again  int64      // the packets below it have been found lost once
}

// fewestOutOfOrder is the least number of packets out of order that shows a loss (uec.cpp,
// min_retx_config).
const fewestOutOfOrder = 5

// outOfOrder has packets sent again if count packets out of order show a loss. It returns their
// payload.
func (s *spraying) outOfOrder(count int) (bytes unit.Bytes) {
	k, packet := &s.sleek, s.r.Payload
	if k.most == 0 {
		return 0
	}
	window := min(s.r.live.window, k.most)
	threshold := max(min(window+window/2, k.most), fewestOutOfOrder*packet)
	if s.acked >= k.target {
		if count < int(threshold/packet) || s.losses.member(s.acked) < s.losses.end {
			return 0
		}
		k.target = s.r.queue.Packet()
	}
	for n := max(s.acked, k.again); n < min(k.target, s.acked+int64(window/packet)); n++ {
		if s.flying(n) {
			s.lose(n)
			bytes += s.payload(n)
		}
		k.again = n + 1
	}
	return bytes
}

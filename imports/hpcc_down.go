package imports

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// linkDownFrom is the instant from which LINK_DOWN counts.
const linkDownFrom = 2 * unit.Second

// hpccDown is a failure of a link.
type hpccDown struct {
	at   unit.Time
	ends [2]int
}

// instant is when the link fails in the time of the simulation.
func (d *hpccDown) instant() unit.Time { return linkDownFrom + d.at }

// checkDown checks the failing link, which is between nodes of the topology. Link 0 to 0 is none.
func (h *hpcc) checkDown(file string) {
	d := h.config.down
	if d == nil || d.at == 0 {
		h.config.down = nil
		return
	}
	linked := slices.ContainsFunc(h.links, func(l hpccLink) bool {
		return l.ends == d.ends || l.ends == [2]int{d.ends[1], d.ends[0]}
	})
	if !linked {
		h.note("%s: ignored: LINK_DOWN, nodes %d and %d have no link", file, d.ends[0], d.ends[1])
		h.config.down = nil
	}
}

// dropDown removes a failure at the end of the run, an instant of the simulation, or after it. It returns the note of
// that, "" if there is no such failure.
func (h *hpcc) dropDown(config string, end unit.Time) string {
	d := h.config.down
	if d == nil || d.instant() < end {
		return ""
	}
	h.config.down = nil
	return fmt.Sprintf("%s: ignored: LINK_DOWN at %s, after the end of the run", config, d.instant())
}

// appendChanges writes the failure of a link.
func (h *hpcc) appendChanges(b []byte) []byte {
	d := h.config.down
	if d == nil {
		return b
	}
	at := max(d.instant()-h.origin, 0)
	return fmt.Appendf(b, "changes:\n  - {at: %s, link_down: %s--%s}\n", at, h.name(d.ends[0]), h.name(d.ends[1]))
}

package balance

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/splitmix"
)

// spray takes the ports of the set in turn. The first port depends on the seed, set and
// class, so that switches do not begin with the same one. This is the project's choice.
func (b *Balancer) spray(p *Packet) fabric.Port {
	turn := at(&b.turns, p)
	first := scale(splitmix.Mix(b.seed^uint64(p.Set)<<8^uint64(p.Class)), len(p.Ports))
	port := p.Ports[(first+int(*turn))%len(p.Ports)]
	*turn = uint16((int(*turn) + 1) % len(p.Ports))
	return port
}

// adaptive takes one of the ports with the lowest level. The hash of the flow selects among
// several, so that a flow keeps its port while queues are short. This is the project's
// choice; htsim draws one of them.
func (b *Balancer) adaptive(p *Packet, queues Queues) fabric.Port {
	lowest, ties := b.Levels, 0
	for _, port := range p.Ports {
		switch level := b.Level(queues(port, p.Class)); {
		case level < lowest:
			lowest, ties = level, 1
		case level == lowest:
			ties++
		}
	}
	skip := scale(p.Hash, ties)
	for _, port := range p.Ports {
		if b.Level(queues(port, p.Class)) == lowest {
			if skip == 0 {
				return port
			}
			skip--
		}
	}
	return p.Pick()
}

// drill compares two different random ports and the best port of the previous packet of the
// set and class. Among equal queues, the first sample wins, then the second.
func (b *Balancer) drill(p *Packet, queues Queues) fabric.Port {
	n := len(p.Ports)
	i := b.below(n)
	k := (i + 1 + b.below(n-1)) % n
	best := at(&b.best, p)
	if memory := int(*best) - 1; memory >= 0 && memory < n {
		k = shorter(p, queues, k, memory)
	}
	i = shorter(p, queues, i, k)
	*best = uint16(i + 1)
	return p.Ports[i]
}

// shorter returns which of two ports of the set has the shorter queue, i among equal ones.
func shorter(p *Packet, queues Queues, i, k int) int {
	if queues(p.Ports[k], p.Class) < queues(p.Ports[i], p.Class) {
		return k
	}
	return i
}

// Package notify decides what a receiver sends back about congestion, and reads and
// writes it: CNPs, and the fields of ACKs, NAKs and READ requests. Each scheme of
// notification is one file with a Point. The package knows packets and instants; it knows
// neither queue pairs nor the queue of control packets.
package notify

import "github.com/rackfab/rackfab/fabric/cc"

// New returns the notification point of a queue pair that receives acknowledged data.
func New(mode cc.Notification, p *cc.Params, port *Port) Point {
	switch mode {
	case cc.NotifyPCN:
		return newPCN(p)
	case cc.NotifyDCQCN:
		return newDCQCN(p, port)
	case cc.NotifyCETH:
		return newCETH(&p.CETH)
	case cc.NotifyEcho:
		return &echo{}
	case cc.NotifyNone, cc.NotifyLoad, cc.NotifyCredit, cc.NotifyNSCC:
	}
	return none{}
}

// ForDatagrams returns the notification point of a queue pair that receives datagrams,
// which are not acknowledged.
func ForDatagrams(mode cc.Notification, p *cc.Params, port *Port) Point {
	if mode == cc.NotifyCETH {
		return newCETHUD(&p.CETH)
	}
	return New(mode, p, port)
}

// ForResponses returns the notification point of a queue pair that receives responses to
// READ, which are not acknowledged.
func ForResponses(mode cc.Notification, p *cc.Params, port *Port) Point {
	if mode == cc.NotifyCETH {
		return newCETHRead(&p.CETH)
	}
	return New(mode, p, port)
}

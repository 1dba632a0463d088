package qp

import "github.com/rackfab/rackfab/fabric/frame"

// access is the set of requests that a Responder executes: the access flags of a queue pair
// (remote write, read and atomic, qp_access_flags of ibv_modify_qp), and the kinds of SEND
// that it receives.
type access uint8

const (
	remoteWrite access = 1 << iota
	remoteRead
	remoteAtomic
	sends      // in the order of their PSNs
	datagrams  // in any order
	immediates // WRITEs with immediate data
)

// needs is what a responder must permit for a request, by opcode; 0 for other packets, and
// for SENDs with immediate data, which are not emulated.
var needs = [256]access{
	frame.SendFirst:    sends,
	frame.SendMiddle:   sends,
	frame.SendLast:     sends,
	frame.SendOnly:     sends,
	frame.WriteFirst:   remoteWrite,
	frame.WriteMiddle:  remoteWrite,
	frame.WriteLast:    remoteWrite,
	frame.WriteOnly:    remoteWrite,
	frame.WriteLastImm: immediates,
	frame.WriteOnlyImm: immediates,
	frame.ReadRequest:  remoteRead,
	frame.CompareSwap:  remoteAtomic,
	frame.FetchAdd:     remoteAtomic,
	frame.UDSendOnly:   datagrams,
}

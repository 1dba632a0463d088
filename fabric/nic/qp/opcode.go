package qp

import (
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// requestOpcode returns the opcode of a request packet (IBTA volume 1 §9.4).
func requestOpcode(verb work.Verb, part *work.Part) frame.Opcode {
	first, middle, last, only := frame.WriteFirst, frame.WriteMiddle, frame.WriteLast, frame.WriteOnly
	switch verb {
	case work.Get:
		return frame.ReadRequest
	case work.FetchAdd:
		return frame.FetchAdd
	case work.CompareSwap:
		return frame.CompareSwap
	case work.Send:
		first, middle, last, only = frame.SendFirst, frame.SendMiddle, frame.SendLast, frame.SendOnly
	case work.Put:
	}
	switch {
	case part.First && part.Last:
		return only
	case part.First:
		return first
	case part.Last:
		return last
	}
	return middle
}

// carries reports whether the requests of a verb carry its data.
func carries(v work.Verb) bool { return v == work.Put || v == work.Send }

// padded returns the length of a payload with its pad, in bytes.
func padded(n unit.Bytes) uint32 { return uint32(n) + uint32(frame.PadCount(uint32(n))) }

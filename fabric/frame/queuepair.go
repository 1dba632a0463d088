package frame

// Queue pairs 0 and 1 are for management, 0xffffff is multicast (IBTA volume 1).
// The queue pairs of flows therefore start at firstQP, and bit 23 marks the
// receiver's.
const (
	firstQP    = 0x10
	receiverQP = 1 << 23

	// MaxFlows is the maximum number of flows, each with its own queue pairs.
	MaxFlows = receiverQP - 1 - firstQP
)

// SenderQP returns the number of the queue pair that sends a flow's data. The
// flow must be below MaxFlows.
func SenderQP(flow uint32) uint32 { return (firstQP + flow) & mask24 }

// ReceiverQP returns the number of the queue pair that receives a flow's data.
// The flow must be below MaxFlows.
func ReceiverQP(flow uint32) uint32 { return (receiverQP | (firstQP + flow)) & mask24 }

// FlowOfQP returns the flow that owns the queue pair, and whether it is the
// sender's. ok is false if no flow owns it.
func FlowOfQP(qp uint32) (flow uint32, sender bool, ok bool) {
	i := qp&^receiverQP - firstQP
	if i >= MaxFlows {
		return 0, false, false
	}
	return i, qp&receiverQP == 0, true
}

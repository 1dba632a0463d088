package frame

// Queue pairs 0 and 1 are for management, 0xffffff is multicast (IBTA volume 1),
// so flows count from firstQP, and bit 23 tells the receiver.
const (
	firstQP    = 0x10
	receiverQP = 1 << 23

	// MaxFlows is how many flows have queue pairs of their own.
	MaxFlows = receiverQP - 1 - firstQP
)

// SenderQP gives the number of the queue pair at which a flow starts. The flow is
// below MaxFlows.
func SenderQP(flow uint32) uint32 { return (firstQP + flow) & mask24 }

// ReceiverQP gives the number of the queue pair at which a flow ends. The flow is
// below MaxFlows.
func ReceiverQP(flow uint32) uint32 { return (receiverQP | (firstQP + flow)) & mask24 }

// FlowOfQP gives the flow that owns the queue pair, and whether it is the
// sender's; ok is false if no flow owns it.
func FlowOfQP(qp uint32) (flow uint32, sender bool, ok bool) {
	i := qp&^receiverQP - firstQP
	if i >= MaxFlows {
		return 0, false, false
	}
	return i, qp&receiverQP == 0, true
}

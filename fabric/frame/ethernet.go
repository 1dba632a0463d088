package frame

// Ethernet header, IEEE 802.3 §3.2: destination 6, source 6, EtherType 2.
const (
	ethDst    = 0
	ethSrc    = 6
	ethType   = 12
	ethEnd    = 14
	typeIPv4  = 0x0800
	typePause = 0x8808 // MAC control, IEEE 802.3 annex 31A
	// minCapture is the Ethernet minimum without the FCS, in bytes.
	minCapture = MinLen - FCSLen
)

// SrcMAC returns the Ethernet source address.
func (f *Frame) SrcMAC() Addr { return Addr(f.head[ethSrc:ethType]) }

// DstMAC returns the Ethernet destination address.
func (f *Frame) DstMAC() Addr { return Addr(f.head[ethDst:ethSrc]) }

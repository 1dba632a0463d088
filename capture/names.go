package capture

import (
	"encoding/binary"
	"io"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Types of a Name Resolution Block and of its records.
const (
	namesBlock = 4
	nameOfIPv4 = 1
	nameOfMAC  = 3 // nrb_record_eui48
)

// writeNames writes a Name Resolution Block with the addresses of the nodes of s: the IPv4
// and MAC addresses of NICs, and the MAC addresses of switches, from which PFC frames
// come. It writes nothing if s has no nodes.
func writeNames(w io.Writer, s *topology.Scenario) error {
	if len(s.Nodes) == 0 {
		return nil
	}
	b := binary.LittleEndian.AppendUint32(nil, namesBlock)
	b = binary.LittleEndian.AppendUint32(b, 0) // the length, below
	for i, n := range s.Nodes {
		mac := frame.SwitchMAC(i)
		if n.Kind == topology.NIC {
			mac = frame.HostMAC(n.Host)
			b = appendName(b, nameOfIPv4, binary.BigEndian.AppendUint32(nil, uint32(frame.HostIP(n.Host))), n.Name)
		}
		b = appendName(b, nameOfMAC, mac[:], n.Name)
	}
	b = binary.LittleEndian.AppendUint32(b, 0) // the end of the records
	length := uint32(len(b) + 4)
	binary.LittleEndian.PutUint32(b[4:], length)
	_, err := w.Write(binary.LittleEndian.AppendUint32(b, length))
	return err
}

// appendName appends a record: the name of an address, padded to 32 bits.
func appendName(b []byte, kind uint16, address []byte, name string) []byte {
	b = binary.LittleEndian.AppendUint16(b, kind)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(address)+len(name)+1))
	b = append(append(append(b, address...), name...), 0)
	for len(b)%4 > 0 {
		b = append(b, 0)
	}
	return b
}

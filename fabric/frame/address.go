package frame

import (
	"fmt"
	"net/netip"
)

// Addr is a MAC address.
type Addr [6]byte

// String formats the address as 02:00:00:00:00:01.
func (a Addr) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3], a[4], a[5])
}

// Host returns the index of the host with the address, or -1 if there is none.
func (a Addr) Host() int {
	if i := int(a[3])<<16 | int(a[4])<<8 | int(a[5]); a[0] == 0x02 && a[1] == 0 && a[2] == 0 && i < MaxHosts {
		return i
	}
	return -1
}

// IP is an IPv4 address, its first byte the most significant.
type IP uint32

// String formats the address as 10.0.0.1.
func (ip IP) String() string {
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}).String()
}

// MaxHosts is the number of host addresses: 10.0.0.1 to 10.255.255.254.
const MaxHosts = 1<<24 - 2

// firstHost is the address of host 0, 10.0.0.1.
const firstHost IP = 10<<24 | 1

// HostMAC returns the MAC address of a host's port: 02:00:00 (locally
// administered) and the host's index, which must be below MaxHosts.
func HostMAC(host int) Addr {
	return Addr{0x02, 0, 0, byte(host >> 16), byte(host >> 8), byte(host)}
}

// SwitchMAC returns the MAC address of a switch: 02:01:00 and the switch's
// index, which must be below 1<<24.
func SwitchMAC(i int) Addr {
	return Addr{0x02, 1, 0, byte(i >> 16), byte(i >> 8), byte(i)}
}

// HostIP returns the IP address of a host: 10.0.0.1 plus its index, which must
// be below MaxHosts.
func HostIP(host int) IP { return firstHost + IP(host) }

// Host returns the index of the host with the address, or -1 if there is none.
func (ip IP) Host() int {
	if i := ip - firstHost; i < MaxHosts {
		return int(i)
	}
	return -1
}

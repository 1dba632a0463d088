package discovery

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Address returns the address, "host:port", that a process announces. listening is the
// address of its listener, conn its connection to the bus.
//
// given is the value of --advertise, HOST or HOST:PORT, "" for none; its default port is
// that of the listener. Without it, the process announces the address of its listener, or
// the address by which it reaches the bus if it listens on all addresses. Address returns
// an error that names the flag if given is malformed or unspecified, and if without it
// the process would announce a loopback address although the bus is on another machine.
func Address(given, listening string, conn any) (string, error) {
	listener, err := netip.ParseAddrPort(listening)
	if err != nil {
		return "", fmt.Errorf("listener: %w", err)
	}
	if given != "" {
		return advertised(given, listener.Port())
	}
	local, remote := ends(conn)
	ip := listener.Addr().Unmap()
	switch {
	case ip.IsUnspecified() && !local.IsValid():
		return "", fmt.Errorf("--listen %s: other machines cannot reach %s: use --advertise HOST", listening, ip)
	case ip.IsUnspecified():
		return netip.AddrPortFrom(local, listener.Port()).String(), nil
	case ip.IsLoopback() && local != remote && !remote.IsLoopback():
		return "", fmt.Errorf("--listen %s: other machines cannot reach %s, but the bus is on %s: "+
			"use --listen %s, or --advertise HOST (--advertise %s if the controller is on this machine)",
			listening, ip, remote, net.JoinHostPort(local.String(), "PORT"), ip)
	}
	return listening, nil
}

// advertised returns the address of --advertise.
func advertised(given string, port uint16) (string, error) {
	host, digits := strings.TrimSuffix(strings.TrimPrefix(given, "["), "]"), strconv.Itoa(int(port))
	if _, err := netip.ParseAddr(host); err != nil {
		host = given
		if h, p, err := net.SplitHostPort(given); err == nil {
			host, digits = h, p
		}
	}
	ip, err := netip.ParseAddr(host)
	if n, bad := strconv.ParseUint(digits, 10, 16); bad != nil || n == 0 || err != nil && (host == "" || strings.ContainsAny(host, " :/@[],")) {
		return "", fmt.Errorf("--advertise %q: must be HOST or HOST:PORT, with a port of 1 to 65535", given)
	}
	if ip.Unmap().IsUnspecified() {
		return "", fmt.Errorf("--advertise %s: %s is not the address of a machine: use one that the controller can reach", given, ip)
	}
	return net.JoinHostPort(host, digits), nil
}

// ends returns the IP addresses of the two ends of a connection to the bus. Both are
// invalid if the bus is in this process. On a connection within a machine they are equal,
// or loopback addresses.
func ends(conn any) (local, remote netip.Addr) {
	c, ok := conn.(interface{ Ends() (local, remote string) })
	if !ok {
		return local, remote
	}
	l, r := c.Ends()
	return ipOf(l), ipOf(r)
}

// ipOf returns the IP address in "address:port", an invalid one if there is none.
func ipOf(address string) netip.Addr {
	a, _ := netip.ParseAddrPort(address) // of an open connection
	return a.Addr().Unmap()
}

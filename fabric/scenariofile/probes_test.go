package scenariofile

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// RTTX-14: RTT probes are a setting of the NIC, kept in the manifest, and off by default.
func TestProbesRoundTrip(t *testing.T) {
	s := underRTTX(t, topology.Setting{Key: "nic.rtt_probe", Value: "20us"})
	if got := s.Nodes[0].NIC.RTTProbe; got != 20*unit.Microsecond {
		t.Errorf("rtt_probe %s", got)
	}
	same(t, s)
	if got := underRTTX(t).Nodes[0].NIC.RTTProbe; got != 0 {
		t.Errorf("by default, rtt_probe %s", got)
	}
	// A comparison with a scheme that does not measure the RTT omits the probes.
	if got := Under(s, "dcqcn").Nodes[0].NIC.RTTProbe; got != 0 {
		t.Errorf("under dcqcn: %s", got)
	}
	if got := Under(s, "timely").Nodes[0].NIC.RTTProbe; got != 20*unit.Microsecond {
		t.Errorf("under timely: %s", got)
	}
	// Data packets carry no timestamps if all NICs send probes.
	stamped, _ := underRTTX(t).DataHeaders(0, 1)
	if each, _ := s.DataHeaders(0, 1); each != stamped-8 {
		t.Errorf("headers of %v with probes, %v without", each, stamped)
	}
}

func TestFaultsOfProbes(t *testing.T) {
	for settings, want := range map[string]string{
		"nic.rtt_probe=20us":                   "nic.rtt_probe: the scheme pcn does not measure the RTT, want one of timely, timely-ecn, timely-rttx,",
		"nic.rtt_probe=20us scheme=dcqcn":      "the scheme dcqcn does not measure the RTT",
		"nic.rtt_probe=999ns scheme=timely":    "nic.rtt_probe: 999ns is too short, want 0 or at least 1us",
		"nic.rtt_probe=1us scheme=timely":      "",
		"nic.rtt_probe=1us scheme=timely-ecn":  "",
		"nic.rtt_probe=1us scheme=timely-rttx": "",
		"nic.rtt_probe=0 scheme=dcqcn":         "",
	} {
		_, err := with(t, strings.Fields(settings)...)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
}

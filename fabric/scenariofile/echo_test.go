package scenariofile

import (
	"strings"
	"testing"
)

// hpcc reacts to the load that ACKs echo, so that their ports cannot be mirrored. The key of
// several NICs is reported once, with the other faults.
func TestFaultsOfEchoes(t *testing.T) {
	for settings, want := range map[string]string{
		"nic.ack_ports=mirrored scheme=hpcc":  "nic.ack_ports: ACKs with mirrored ports cannot carry the load that the scheme hpcc reacts to, want plain",
		"nic.ack_ports=plain scheme=hpcc":     "",
		"nic.ack_ports=mirrored scheme=dctcp": "",
	} {
		_, err := with(t, strings.Fields(settings)...)
		if want == "" && err != nil || want != "" && (err == nil || strings.Count(err.Error(), want) != 1) {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
}

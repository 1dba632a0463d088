package scenariofile

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// A NIC may have a translation cache that differs from the default of the file, or none;
// the manifest keeps both. By default, nothing is translated.
func TestTranslationRoundTrips(t *testing.T) {
	text := strings.Replace(leafSpine, "defaults: {", "defaults: {nic: {atu_entries: 64, atu_page: 2097152B}, ", 1)
	s := parsed(t, text)
	want := rx.TranslationConfig{Entries: 64, Page: 1 << 21, Miss: 330 * unit.Nanosecond}
	if e := s.Nodes[0].NIC.Engine; e.Translation != want || !e.Buffers() {
		t.Errorf("%+v, want %+v", e.Translation, want)
	}
	s.Nodes[0].NIC.Engine.Translation.Entries = 0
	s.Nodes[0].NIC.Engine.Translation.Page = 4096
	s.Nodes[0].NIC.Engine.Translation.Hit = 20 * unit.Nanosecond
	same(t, s)
	if e := parsed(t, leafSpine).Nodes[0].NIC.Engine; e.Buffers() {
		t.Errorf("without settings: %+v", e.Translation)
	}
}

func TestFaultsOfTranslation(t *testing.T) {
	for setting, want := range map[string]string{
		"nic.atu_hit=1us":         "is longer than atu_miss 330ns",
		"nic.atu_entries=-1":      "from 0 to 1048576",
		"nic.atu_page=0":          "atu_page",
		"nic.atu_entries=9999999": "from 0 to 1048576",
	} {
		if _, err := with(t, setting); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
	}
}

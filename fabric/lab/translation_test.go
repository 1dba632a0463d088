package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
)

// translated returns get-incast under bucket pacing, with a translation cache.
func translated(t testing.TB, entries, page string) *topology.Scenario {
	t.Helper()
	return getIncast(t, pacing("bucket"),
		topology.Setting{Key: "nic.atu_entries", Value: entries}, topology.Setting{Key: "nic.atu_page", Value: page})
}

// GET-21: the address translation serves received data. If the cache is smaller than the
// number of targets, the host absorbs less than the threshold of the bucket, which then
// paces in vain. Large pages that fit into the cache need few translations.
func TestTranslationLimitsAbsorption(t *testing.T) {
	none := measured(t, getIncast(t, pacing("bucket")))
	small := measured(t, translated(t, "4", "4096B"))
	large := measured(t, translated(t, "64", "2097152B"))
	if small.Commands[0].Goodput > none.Commands[0].Goodput*95/100 || small.Initiators[0].PAUSE < 500 || small.Flows[0].Goodput > none.Flows[0].Goodput/2 {
		t.Errorf("small cache: goodput %v of %v, %d PAUSE frames, F0 gets %v", small.Commands[0].Goodput, none.Commands[0].Goodput,
			small.Initiators[0].PAUSE, small.Flows[0].Goodput)
	}
	if large.Commands[0].Goodput < none.Commands[0].Goodput*99/100 || large.Tree != 0 || large.Flows[0].Goodput < none.Flows[0].Goodput*99/100 {
		t.Errorf("large pages: goodput %v of %v, tree %v, F0 gets %v", large.Commands[0].Goodput, none.Commands[0].Goodput,
			large.Tree, large.Flows[0].Goodput)
	}
}

// One entry for all queue pairs of a NIC is a cache that always misses when they alternate;
// lookups as short as the time of a frame have no effect.
func TestShortLookupsHaveNoEffect(t *testing.T) {
	s := getIncast(t, pacing("bucket"), topology.Setting{Key: "nic.atu_entries", Value: "1"}, topology.Setting{Key: "nic.atu_miss", Value: "10ns"})
	fast, none := measured(t, s), measured(t, getIncast(t, pacing("bucket")))
	if fast.Commands[0].Goodput < none.Commands[0].Goodput*99/100 || fast.Initiators[0].PAUSE != 0 {
		t.Errorf("goodput %v of %v, %d PAUSE frames", fast.Commands[0].Goodput, none.Commands[0].Goodput, fast.Initiators[0].PAUSE)
	}
}

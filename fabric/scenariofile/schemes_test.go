package scenariofile

import (
	"cmp"
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric/cc"
)

// The list of parameters is that of the parser. Each default can be written in a file
// without changing the scenario, and each parameter cites its source.
func TestParamsMatchTheFile(t *testing.T) {
	for _, scheme := range cc.Schemes {
		for _, p := range Params(scheme.Name) {
			if p.Doc == "" || p.Range == "" || p.Source == "" {
				t.Errorf("%s: %+v leaves something open", scheme.Name, p)
			}
			text := edited(t, "  pcn: {wmin: 0.01, wmax: 0.5}\n", "  "+cmp.Or(scheme.Settings, scheme.Name)+": {"+p.Key+": "+p.Default+"}\n")
			if s := parsed(t, text); s.CC != cc.Default() {
				t.Errorf("%s.%s: %s is not the default", scheme.Name, p.Key, p.Default)
			}
		}
	}
}

func TestParamsOfPCN(t *testing.T) {
	// PCN-45, PCN-32, PCN-33, PCN-55: the published constants.
	want := map[string]string{"wmin": "0.0078125", "wmax": "0.5", "period": "50us", "threshold": "0.95", "min_rate": "170Mbps"}
	params := Params("pcn")
	for _, p := range params {
		if p.Default != want[p.Key] {
			t.Errorf("%s: default %s, want %s", p.Key, p.Default, want[p.Key])
		}
	}
	if len(params) != len(want) {
		t.Errorf("%d parameters, want %d", len(params), len(want))
	}
	if got := params[2]; got.Unit != "us" || got.Range != "from 1ns to 1000s" {
		t.Errorf("%+v", got)
	}
	if got := Params("pfc"); len(got) != 0 {
		t.Errorf("pfc has parameters %v", got)
	}
}

func TestEverySectionBelongsToAScheme(t *testing.T) {
	for _, s := range schemeSections {
		if _, err := cc.Find(s.scheme); err != nil {
			t.Error(err)
		}
	}
}

// Each preset has the published settings of that name. A key beside it changes only
// that setting, wherever in the section it is.
func TestPresets(t *testing.T) {
	with := func(section string) cc.Params {
		return parsed(t, edited(t, "  pcn: {wmin: 0.01, wmax: 0.5}\n", section)).CC
	}
	for _, p := range cc.DCQCNPresets {
		if got := with("  dcqcn: {preset: " + p.Preset + "}\n").DCQCN; got != p {
			t.Errorf("%s: %+v", p.Preset, got)
		}
	}
	for _, p := range cc.QCNPresets {
		if got := with("  qcn: {preset: " + p.Preset + "}\n").QCN; got != p {
			t.Errorf("%s: %+v", p.Preset, got)
		}
	}
	for _, p := range cc.TIMELYPresets {
		if got := with("  timely: {preset: " + p.Preset + "}\n").TIMELY; got != p {
			t.Errorf("%s: %+v", p.Preset, got)
		}
	}
	want := cc.DCQCNPresets[1]
	want.G = 0.25
	for _, section := range []string{"{preset: connectx, g: 0.25}", "{g: 0.25, preset: connectx}"} {
		if got := with("  dcqcn: " + section + "\n").DCQCN; got != want {
			t.Errorf("%s: %+v", section, got)
		}
	}
}

func TestParamsShowPresetValues(t *testing.T) {
	for _, p := range Params("dcqcn") {
		if want := []PresetValue{{"connectx", "5Mbps"}, {"dcqcn_paper", "5Mbps"}}; p.Key == "ai_rate" && !slices.Equal(p.Presets, want) {
			t.Errorf("ai_rate: %v, want %v", p.Presets, want)
		}
		if p.Key == "preset" && (p.Default != "paper" || p.Presets != nil) {
			t.Errorf("%+v", p)
		}
	}
}

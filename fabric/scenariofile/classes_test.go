package scenariofile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

const kilobyte = unit.Kilobyte

// A class without settings of its own has those of the switch: reserve and dynamic
// threshold if it is lossless, and the whole pool if it is not.
func TestClassInheritsSwitchSettings(t *testing.T) {
	s := topology.DefaultSwitch()
	s.Headroom = 100 * kilobyte
	lossless := topology.ClassProfile{
		Lossless: true, Reserve: s.Reserve, AlphaShift: 3, XON: s.XON, Headroom: s.Headroom, Kmin: s.Kmin, Kmax: s.Kmax, Pmax: s.Pmax,
	}
	lossy := topology.ClassProfile{Kmin: s.Kmin, Kmax: s.Kmax, Pmax: s.Pmax}
	for class := range fabric.Priority(fabric.Priorities) {
		want := lossy
		if class == 3 {
			want = lossless
		}
		if diff := cmp.Diff(want, s.Profile(class)); diff != "" {
			t.Errorf("class %d:\n%s", class, diff)
		}
	}
}

func TestClassSettingsTakePrecedence(t *testing.T) {
	base := strings.Replace(sample, "buffer: 12MB", "buffer: 12MB, xoff: 100KB, lossless: [3, 4]", 1)
	for _, c := range []struct {
		section string
		class   fabric.Priority
		want    func(*topology.ClassProfile)
	}{
		{"class3: {xoff: 50KB, xon_offset: 5KB}", 3, func(p *topology.ClassProfile) { p.Threshold, p.XON = 50*kilobyte, 5*kilobyte }},
		{"class3: {alpha: 1/16}", 3, func(p *topology.ClassProfile) { p.Threshold, p.AlphaShift = 0, 4 }},
		{"class4: {alpha: 8}", 4, func(p *topology.ClassProfile) { p.Threshold, p.AlphaShift = 0, -3 }},
		{"class4: {alpha: 0.25}", 4, func(p *topology.ClassProfile) { p.Threshold, p.AlphaShift = 0, 2 }},
		{"class3: {reserve: 9KB, headroom: 400KB}", 3, func(p *topology.ClassProfile) { p.Reserve, p.Headroom = 9*kilobyte, 400*kilobyte }},
		{"class1: {reserve: 2KB, limit: 200KB}", 1, func(p *topology.ClassProfile) { p.Reserve, p.Threshold = 2*kilobyte, 200*kilobyte }},
		{"class1: {alpha: 1/2}", 1, func(p *topology.ClassProfile) { p.AlphaShift = 1 }},
		{"class3: {kmin: 1KB, kmax: 2KB, pmax: 1}", 3, func(p *topology.ClassProfile) { p.Kmin, p.Kmax, p.Pmax = kilobyte, 2*kilobyte, 1 }},
		{"class1: ", 1, func(*topology.ClassProfile) {}},
	} {
		plain := parsed(t, base)
		s := parsed(t, strings.Replace(base, "xoff: 100KB", "xoff: 100KB, "+c.section, 1))
		same(t, s) // the scenario parses back from its manifest
		for class := range fabric.Priority(fabric.Priorities) {
			want, got := plain.Nodes[5].Switch.Profile(class), s.Nodes[5].Switch.Profile(class)
			if class == c.class {
				c.want(&want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, class %d:\n%s", c.section, class, diff)
			}
		}
	}
}

// A switch takes the settings that it does not set from the defaults. An alpha
// replaces a limit in the defaults.
func TestClassesOfASwitchOverrideTheDefaults(t *testing.T) {
	s := parsed(t, edited(t, "buffer: 12MB", "buffer: 12MB, class1: {reserve: 2KB, limit: 200KB}"))
	over := parsed(t, edited(t, "buffer: 12MB}\n", "buffer: 12MB, class1: {reserve: 2KB, limit: 200KB}}\n  s1: {class1: {alpha: 1/4}}\n"))
	if got := over.Nodes[5].Switch.Profile(1); got.Threshold != 200*kilobyte {
		t.Errorf("s0: %+v", got)
	}
	if got := over.Nodes[6].Switch.Profile(1); got.Threshold != 0 || got.AlphaShift != 2 || got.Reserve != 2*kilobyte {
		t.Errorf("s1: %+v", got)
	}
	if got := s.Nodes[6].Switch.Profile(1); got.Threshold != 200*kilobyte {
		t.Errorf("s1 without: %+v", got)
	}
}

// Every fault of the classes is reported at its key, all faults of a file at once.
func TestFaultsOfClasses(t *testing.T) {
	for section, want := range map[string]string{
		"class1: {alpha: 1/8, limit: 1KB}":                        "class1.alpha: cannot be combined with limit",
		"class3: {alpha: 1/8, xoff: 90KB}":                        "class3.alpha: cannot be combined with xoff",
		"class3: {limit: 90KB}":                                   "class3.limit: class 3 is lossless, want xoff or alpha",
		"class1: {xoff: 90KB}":                                    "class1.xoff: class 1 is lossy and never paused, want limit or alpha",
		"class1: {headroom: 90KB}":                                "class1.headroom: class 1 is lossy",
		"class1: {xon_offset: 1KB}":                               "class1.xon_offset: class 1 is lossy",
		"class3: {xoff: 3KB}":                                     "class3.xoff: class 3 has xon_offset 3.072KB, which is not below xoff 3KB",
		"class3: {xoff: 9KB, xon_offset: 9KB}":                    "class3.xon_offset: class 3 has xon_offset 9KB, which is not below xoff 9KB",
		"class3: {kmin: 300KB}":                                   "class3.kmin: class 3 has kmin 300KB above kmax 200KB",
		"class2: {kmax: 1KB}":                                     "class2.kmax: class 2 has kmin 5KB above kmax 1KB",
		"class1: {limit: 1KB}":                                    "class1.limit: 1KB and the reserve of 0B hold less than one frame of 1518B",
		"class3: {xoff: 12MB}":                                    "class3.xoff: 12MB is never reached: reserves and headrooms leave",
		"class1: {reserve: 3MB}":                                  "buffer: 12MB is too small: reserve 3MB and headroom 0B of class 1, reserve 4.096KB and headroom",
		"class1: {alpha: 1/3}":                                    `class1.alpha: "1/3" is not a power of 2 from 1/128 to 64, like 1/8`,
		"class1: {alpha: 128}":                                    `class1.alpha: "128" is not a power of 2`,
		"class8: {limit: 9KB}":                                    "class8: unknown key, want one of",
		"class1: {quota: 9KB}":                                    "class1.quota: unknown key, want one of reserve, alpha, limit, xoff, xon_offset, headroom, kmin, kmax, pmax",
		"class1.limit: 9KB":                                       "class1.limit: unknown key",
		"class1: {pmax: 2}, class2: {limit: 1}, class4: {xoff: }": "class4.xoff: ",
	} {
		_, err := Parse("f", []byte(edited(t, "buffer: 12MB", "buffer: 12MB, "+section)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", section, err, want)
		}
		if strings.HasPrefix(section, "class1: {pmax") && strings.Count(err.Error(), "\n") != 2 {
			t.Errorf("%s: want three faults, got %v", section, err)
		}
	}
	small := "buffer: 3MB, class3: {alpha: 1/128, reserve: 1KB}"
	if _, err := Parse("f", []byte(edited(t, "buffer: 12MB", small))); err != nil {
		t.Errorf("%s: %v", small, err)
	}
	small = "buffer: 1000KB, class3: {alpha: 1/128, reserve: 1KB}"
	if _, err := Parse("f", []byte(edited(t, "buffer: 12MB", small))); err == nil || !strings.Contains(err.Error(), "class3.alpha: 1/128 leaves a threshold of") {
		t.Errorf("%s: %v", small, err)
	}
}

// A setting names a class in the same way as a node or a flow.
func TestSettingsOfClasses(t *testing.T) {
	for _, c := range []struct{ setting, with string }{
		{"switch.class1.limit=200KB", "buffer: 12MB, class1: {limit: 200KB}"},
		{"s0..s1.class3.alpha=1/4", "buffer: 12MB, class3: {alpha: 1/4}"},
		{"switch.class3.kmin=1KB", "buffer: 12MB, class3: {kmin: 1KB}"},
	} {
		if diff := cmp.Diff(parsed(t, edited(t, "buffer: 12MB", c.with)), mustWith(t, c.setting)); diff != "" {
			t.Errorf("%s:\n%s", c.setting, diff)
		}
	}
	if got := Unit(mustWith(t, "switch.class1.limit=200KB"), "s1.class1.limit"); got != "bytes" {
		t.Errorf("unit %q", got)
	}
	if _, err := with(t, "s1.class1.quota=1KB"); err == nil || !strings.Contains(err.Error(), "s1.class1.quota: unknown key, want one of s1.buffer,") ||
		!strings.Contains(err.Error(), "s1.classN.limit") || strings.Contains(err.Error(), "s1.class0.limit") {
		t.Errorf("%v", err)
	}
}

// A class's own settings can change while the rack runs. A setting of the switch no
// longer affects the class afterwards.
func TestChangesOfClasses(t *testing.T) {
	s := parsed(t, edited(t, "buffer: 12MB", "buffer: 12MB, lossless: [3, 4]")+`changes:
  - {at: 100us, set: s0.class3.alpha=1/4}
  - {at: 200us, set: s0.xoff=90KB}
  - {at: 300us, set: s0.class1.limit=70KB}
  - {at: 400us, set: s0.class2.kmin=1KB}
  - {at: 500us, set: s0.kmin=2KB}
`)
	same(t, s)
	for _, c := range []struct {
		change int
		want   []Tuning
	}{
		{0, []Tuning{tuning(5, fabric.Change{Key: fabric.KeyAlphaShift, Value: 2, Classes: 1 << 3, Named: true})}},
		{1, []Tuning{tuning(5, fabric.Change{Key: fabric.KeyXOFF, Value: int64(90 * kilobyte), Classes: 1 << 4})}},
		{2, []Tuning{tuning(5, fabric.Change{Key: fabric.KeyXOFF, Value: int64(70 * kilobyte), Classes: 1 << 1, Named: true})}},
		{3, []Tuning{tuning(5, fabric.Change{Key: fabric.KeyKmin, Value: 1000, Classes: 1 << 2, Named: true})}},
		{4, []Tuning{tuning(5, fabric.Change{Key: fabric.KeyKmin, Value: 2000, Classes: 0xff &^ (1 << 2)})}},
	} {
		if diff := cmp.Diff(c.want, tuned(s, c.change)); diff != "" {
			t.Error(diff)
		}
	}
	at := StateBefore(s, unit.Millisecond).Nodes[5].Switch
	if p := at.Profile(3); p.Threshold != 0 || p.AlphaShift != 2 {
		t.Errorf("class 3 at the end: %+v", p)
	}
	var listed []string
	for _, one := range NodeSettings(s, 5, unit.Millisecond) {
		if strings.HasPrefix(one.Key, "class") && one.Live {
			listed = append(listed, one.Key+"="+one.Value)
		}
	}
	if got := strings.Join(listed, " "); got != "class1.limit=70KB class2.kmin=1KB class3.alpha=1/4" {
		t.Errorf("settings in force: %s", got)
	}
	for entry, want := range map[string]string{
		"s0.class3.reserve=1KB":                               `"class3.reserve" cannot change while the rack runs, want one of xoff,`,
		"s0.class3.limit=1KB":                                 "class3.limit: class 3 is lossless",
		"s0.class9.limit=1KB":                                 `unknown setting "class9.limit", want one of xoff,`,
		"h0.class3.alpha=1/4":                                 "unknown setting",
		"s0.xoff=90KB}\n  - {at: 0, set: s0.class3.alpha=1/4": "every class that uses xoff has its own, want s0.classN.xoff",
	} {
		if _, err := Parse("f", []byte(sample+"changes:\n  - {at: 1us, set: "+entry+"}\n")); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want only %s", entry, err, want)
		}
	}
}

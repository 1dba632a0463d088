package scenariofile

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/topology"
)

// schemeSection is the section of a scheme under schemes: its parameters.
type schemeSection struct {
	scheme string // of cc.Schemes
	doc    string
	fields []field[cc.Params]
}

// schemeSections holds the parameters of every scheme that has any. The parser, the
// manifest, the schema and the list of schemes are derived from it.
var schemeSections = []schemeSection{
	{"qcn", "quantized congestion notification", lift(qcnFields, func(p *cc.Params) *cc.QCNParams { return &p.QCN })},
	{"dcqcn", "data center quantized congestion notification", lift(dcqcnFields, func(p *cc.Params) *cc.DCQCNParams { return &p.DCQCN })},
	{"timely", "RTT-based congestion control", lift(timelyFields, func(p *cc.Params) *cc.TIMELYParams { return &p.TIMELY })},
	{"pcn", "photonic congestion notification", lift(pcnFields, func(p *cc.Params) *cc.PCNParams { return &p.PCN })},
	{"ceth", "congestion information in the ACK", lift(cethFields, func(p *cc.Params) *cc.CETHParams { return &p.CETH })},
	{"timely-ecn", "TIMELY whose rate CNPs reduce as well: the settings of timely and dcqcn, and these", lift(timelyECNFields, func(p *cc.Params) *cc.TIMELYECNParams { return &p.TIMELYECN })},
	{"timely-rttx", "TIMELY under switches that turn ECN into RTT", lift(timelyFields, func(p *cc.Params) *cc.TIMELYParams { return &p.TIMELYRTTX })},
	{"irn", "selective repeat, of irn and of NICs with recovery selective: the settings of dcqcn, and these", lift(irnFields, func(p *cc.Params) *cc.IRNParams { return &p.IRN })},
	{"cbrc", "receiver credit, for cbrc and cbrc-aimd", lift(creditFields, func(p *cc.Params) *credit.Params { return &p.Credit })},
	{"dctcp", "rate by the share of marked packets", lift(dctcpFields, func(p *cc.Params) *cc.DCTCPParams { return &p.DCTCP })},
	{"swift", "delay target with hop and flow scaling", lift(swiftFields, func(p *cc.Params) *cc.SwiftParams { return &p.Swift })},
	{"mrc", "selective repeat over several paths, of mrc and of NICs with recovery spraying: the settings of nscc, and these", lift(mrcFields, func(p *cc.Params) *cc.MRCParams { return &p.MRC })},
	{"nscc", "window by delay and marks (Ultra Ethernet), of mrc too; their recovery has the settings of mrc", lift(nsccFields, func(p *cc.Params) *cc.NSCCParams { return &p.NSCC })},
	{"rccc", "receiver credit (Ultra Ethernet); its recovery has the settings of mrc", lift(rcccFields, func(p *cc.Params) *credit.Params { return &p.RCCC })},
	{"hpcc", "rate by the load of each hop", lift(hpccFields, func(p *cc.Params) *cc.HPCCParams { return &p.HPCC })},
	{"powertcp", "rate by the power of each hop", lift(powertcpFields, func(p *cc.Params) *cc.PowerTCPParams { return &p.PowerTCP })},
}

// schemesFields are the sections of the schemes.
var schemesFields = func() (fields []field[sections]) {
	for _, s := range schemeSections {
		fields = append(fields, sectionField(s.scheme, s.doc, reference(s.scheme)))
	}
	return fields
}()

func newSchemeSources() map[string]*source {
	sources := map[string]*source{}
	for _, s := range schemeSections {
		sources[s.scheme] = newSource("schemes."+s.scheme, 1)
	}
	return sources
}

func (b *builder) readSchemes(n *yaml.Node) {
	given := b.subsections(n, "schemes", schemesFields)
	for _, s := range schemeSections {
		src := b.schemes[s.scheme]
		if n := given[s.scheme]; n != nil {
			src.line = n.Line
			readSection(&b.collector, n, src.key, s.fields, &b.s.CC, src)
		}
		set(b, s.fields, &b.s.CC, src, s.scheme)
	}
}

// Param is a parameter of a scheme, for display.
type Param struct {
	Key     string `json:"key"`
	Doc     string `json:"doc"`
	Default string `json:"default"`        // as in a file
	Unit    string `json:"unit,omitempty"` // unit of the value; empty for a plain number
	Range   string `json:"range"`
	Source  string `json:"source"` // source of the default
	// Presets holds the values of the other presets, where they differ from the
	// default.
	Presets []PresetValue `json:"presets,omitempty"`
}

// PresetValue is the value of a parameter under a preset, as in a file.
type PresetValue struct {
	Preset string `json:"preset"`
	Value  string `json:"value"`
}

// Params returns the parameters of a scheme in the order of the file. The list is
// empty if the scheme has none or is unknown.
func Params(scheme string) []Param {
	if s, err := cc.Find(scheme); err == nil && s.Settings != "" {
		scheme = s.Settings // the section of another scheme
	}
	for _, s := range schemeSections {
		if s.scheme == scheme {
			return params(s.fields, cc.Default())
		}
	}
	return []Param{}
}

// SwitchParams returns the settings of a switch that only this scheme uses.
func SwitchParams(scheme string) []Param {
	if s, err := cc.Find(scheme); err != nil || s.Rewrite != cc.RewriteRTTX {
		return nil
	}
	return params(converterFields, topology.DefaultSwitch())
}

// Choices returns the settings of NICs, switches and links in which other simulators
// and devices differ from each other, for any scheme. Keys are those of a Setting.
func Choices() []Param {
	return slices.Concat(choices("nic", nicFields, topology.DefaultNIC()), choices("switch", queueFields, topology.DefaultSwitch()), choices("link", linkSettings, topology.DefaultLink()))
}

// choices returns the fields that cite a source.
func choices[T any](part string, fields []field[T], defaults T) []Param {
	cited := slices.DeleteFunc(slices.Clone(fields), func(f field[T]) bool { return f.source == "" })
	return params(prefixed(part+".", cited), defaults)
}

func params[T any](fields []field[T], defaults T) (list []Param) {
	for _, f := range fields {
		p := Param{Key: f.key, Doc: f.doc, Unit: f.unit, Range: f.limits, Source: f.source}
		if value := f.write(&defaults); value != nil {
			p.Default = value.Value
		}
		p.Presets = presetValues(fields, f, defaults)
		list = append(list, p)
	}
	return list
}

// presetValues returns the presets whose value of a parameter differs from its
// default.
func presetValues[T any](fields []field[T], f field[T], defaults T) (list []PresetValue) {
	preset := find(fields, "preset")
	if preset == nil || f.first {
		return nil
	}
	for _, name := range preset.presets {
		t := defaults
		if preset.read(&t, text(name)) != nil {
			continue
		}
		if value := f.write(&t).Value; value != f.write(&defaults).Value {
			list = append(list, PresetValue{name, value})
		}
	}
	return list
}

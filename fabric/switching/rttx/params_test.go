package rttx

import (
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Params){
		`key "psn", want one of [five-tuple queue-pair]`: func(p *Params) { p.Key = "psn" },
		`match "swap"`:    func(p *Params) { p.Match = "swap" },
		`judge "luck"`:    func(p *Params) { p.Judge = "luck" },
		`way "5"`:         func(p *Params) { p.Way = "5" },
		`bound "mean"`:    func(p *Params) { p.Bound = "mean" },
		`stamp "both"`:    func(p *Params) { p.Stamp = "both" },
		`clear "ce"`:      func(p *Params) { p.Clear = "ce" },
		"key_bits 65":     func(p *Params) { p.KeyBits = 65 },
		"table 0":         func(p *Params) { p.Table = 0 },
		"age 0ps":         func(p *Params) { p.Age = 0 },
		"delay -1ps":      func(p *Params) { p.Delay = -1 },
		"window 256":      func(p *Params) { p.Window = 256 },
		"levels 0":        func(p *Params) { p.Levels = 0 },
		"want 4":          func(p *Params) { p.Levels = 5 },
		"P_max 2":         func(p *Params) { p.PMax = 2 },
		"D 1.000001s":     func(p *Params) { p.D = MaxD + us },
		"other end's QPN": func(p *Params) { p.Match = MatchMirror },
	} {
		p := settings(change)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	p := settings(nil)
	if err := p.Validate(); err != nil {
		t.Errorf("the published settings: %v", err)
	}
	if p.Age = 0; p.Validate() == nil {
		t.Error("no age passes")
	}
}

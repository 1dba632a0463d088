package cc

import (
	"strings"
	"testing"
)

func TestEverySchemeOfTheTableCanBeMade(t *testing.T) {
	for _, s := range Schemes {
		a, err := New(s.Name, Default(), line, 0)
		if err != nil || a.Rate() != line {
			t.Errorf("%s: %v, %v", s.Name, a, err)
		}
	}
}

func TestUnknownSchemeIsRefusedWithTheNames(t *testing.T) {
	_, err := New("pigeon", Default(), line, 0)
	if err == nil || !strings.Contains(err.Error(), "pigeon") || !strings.Contains(err.Error(), "pfc, qcn, dcqcn, timely, pcn") {
		t.Errorf("%v", err)
	}
}

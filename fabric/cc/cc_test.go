package cc

import (
	"slices"
	"strings"
	"testing"
)

func TestEverySchemeConstructs(t *testing.T) {
	for _, s := range Schemes {
		a, err := New(s.Name, Default(), Path{Rate: line}, 0)
		if err != nil || a.Rate() != line {
			t.Errorf("%s: %v, %v", s.Name, a, err)
		}
	}
}

// A row without a validate function would accept any settings.
func TestEverySchemeValidatesItsSettings(t *testing.T) {
	for _, s := range Schemes {
		if err := Default().Validate(s.Name); err != nil {
			t.Errorf("%s by default: %v", s.Name, err)
		}
		if err := (Params{}).Validate(s.Name); (err == nil) != (s.Name == "pfc") {
			t.Errorf("%s with nothing set: %v", s.Name, err)
		}
	}
}

func TestChoicesAreTheSwitchableSchemes(t *testing.T) {
	bound := []string{"cnp", "ceth", "timely-rttx", "cbrc", "cbrc-aimd", "hpcc", "powertcp", "irn", "mrc", "nscc", "rccc"}
	want := slices.DeleteFunc(Names(), func(name string) bool { return slices.Contains(bound, name) })
	if got := Choices(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestUnknownSchemeErrorListsTheNames(t *testing.T) {
	_, err := New("pigeon", Default(), Path{Rate: line}, 0)
	if err == nil || !strings.Contains(err.Error(), "pigeon") || !strings.Contains(err.Error(), "pfc, qcn, dcqcn, timely, pcn") {
		t.Errorf("%v", err)
	}
}

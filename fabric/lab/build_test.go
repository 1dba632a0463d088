package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// BenchmarkBuild builds a leaf-spine fabric of 512 hosts and 48 switches with an
// incast of 8176 flows: data shared by several machines must be computed once.
func BenchmarkBuild(b *testing.B) {
	var text strings.Builder
	text.WriteString("name: leafspine\nduration: 1ms\nscheme: pcn\n" +
		"defaults: {switch: {buffer: 100MB}, link: {rate: 40Gbps, delay: 1us}}\n" +
		"nics: {h0..h511: }\nswitches: {l0..l31: , s0..s15: }\nlinks:\n  - endpoints: [l0..l31, s0..s15]\n")
	for i := range 32 {
		fmt.Fprintf(&text, "  - endpoints: [h%d..h%d, l%d]\n", 16*i, 16*i+15, i)
	}
	text.WriteString("bursts: [{name: b, from: h1..h511, to: h0, flows_per_sender: 16, size: 1KB, at: 1us}]\n")
	s, err := scenariofile.Parse("leafspine.yaml", []byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := lab.New(s); err != nil {
			b.Fatal(err)
		}
	}
}

package imports

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// Text is read with each byte-order mark, and other bytes stay as they are.
func TestText(t *testing.T) {
	const text = "Nodes 2\r\n# µ 𝄞\r\n"
	utf16of := func(order binary.AppendByteOrder) (b []byte) {
		for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
			b = order.AppendUint16(b, u)
		}
		return b
	}
	for name, data := range map[string][]byte{
		"none": []byte(text), "UTF-8": []byte("\ufeff" + text), "UTF-16LE": utf16of(binary.LittleEndian), "UTF-16BE": utf16of(binary.BigEndian),
	} {
		if got := string(Text(data)); got != text {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, data := range [][]byte{nil, {0xff}, {0xff, 0xfe, 0}, {0xef, 0xbb}, {0xa1, 0xb2, 0xc3, 0xd4}} {
		if got := Text(data); !bytes.Equal(got, data) {
			t.Errorf("%x: %x", data, got)
		}
	}
}

// IMP-12: The ends of lines of text may be those of Windows: the scenario and the notes are the same.
func TestEndsOfLinesOfWindows(t *testing.T) {
	two := Layout{Rate: DefaultLayout.Rate, Delay: DefaultLayout.Delay}
	ring := matrix("0->1 id 1 msg start 0 size 5 send_done_trigger 1\n1->2 id 2 trigger 1 size 5\ntrigger id 1 oneshot")
	file := func(name, text string) *File { return &File{name, []byte(text)} }
	for _, c := range []struct {
		name  string
		files []*File
		made  func(files []*File) (*Imported, error)
	}{
		{"hpcc", []*File{file("t", smallTopology), file("f", smallFlows), file("c", smallConfig)}, func(f []*File) (*Imported, error) { return HPCC(*f[0], *f[1], f[2]) }},
		{"htsim", []*File{file("c", ring), file("t", smallTree)}, func(f []*File) (*Imported, error) {
			return HTSim(*f[0], HTSimSetup{Topology: f[1], Start: 1000000, Options: &HTSimOptions{}})
		}},
		{"goal", []*File{file("g", "num_ranks 2\nrank 0 { // a rank\nl1: send 5b to 1\nl2: calc 5\nl2 requires l1\n}\nrank 1 {\nl1: recv 5b from 0\n}\n")}, func(f []*File) (*Imported, error) { return GOAL(*f[0], nil, two) }},
		{"simai", []*File{file("w", strings.Replace(string(smallWorkload.Data), "all_gpus: 8", "all_gpus: 4", 1)), file("t", twoServers), file("c", simaiConfig)}, func(f []*File) (*Imported, error) { return SimAI(*f[0], f[1], f[2], two) }},
	} {
		want, err := c.made(c.files)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		windows := make([]*File, len(c.files))
		for i, f := range c.files {
			windows[i] = &File{f.Name, bytes.ReplaceAll(f.Data, []byte("\n"), []byte("\r\n"))}
		}
		got, err := c.made(windows)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !bytes.Equal(got.Scenario, want.Scenario) || !slices.Equal(got.Notes, want.Notes) {
			t.Errorf("%s:\n%s%s\nwant\n%s%s", c.name, got.Scenario, strings.Join(got.Notes, "\n"), want.Scenario, strings.Join(want.Notes, "\n"))
		}
	}
}

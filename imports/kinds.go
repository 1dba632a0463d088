package imports

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// DefaultLayout is the rack of files that have none.
var DefaultLayout = Layout{Rate: 100 * unit.GigabitPerSec, Delay: unit.Microsecond}

// kind is a kind of file.
type kind struct {
	what   string
	suffix string         // of names, "" for none
	begins *regexp.Regexp // how the text begins, after comments; nil for a capture
	alone  func(f File) (*Imported, error)
	needs  string // command that reads the file with others; alone is nil
}

// kinds are the kinds of text that are no scenario. The first that fits is that of a file.
var kinds = []kind{
	{"a capture", "", nil, func(f File) (*Imported, error) { return PCAP(f, nil, DefaultLayout) }, ""},
	{"a trace in GOAL", ".goal", regexp.MustCompile(`^num_ranks\s`), func(f File) (*Imported, error) {
		return GOAL(f, nil, DefaultLayout)
	}, ""},
	{"a workload of SimAI", "", regexp.MustCompile(`^(MICRO|HYBRID_[A-Z_]+)([ \t\r][^\n]*)?\n\s*[0-9]+\s*\n`), func(f File) (*Imported, error) {
		return SimAI(f, nil, nil, DefaultLayout)
	}, ""},
	{"a topology of SimAI", "", regexp.MustCompile(`^([0-9]+ ){5}[A-Za-z]\S*\s*\n[0-9\s]+[KMGT]?bps\s`), nil, "simai FILE --topology %s"},
	{"a topology of htsim", ".topo", regexp.MustCompile(`(?i)^(nodes [0-9]+\s+)?(podsize [0-9]+\s+)?tiers [0-9]+\s`), nil, "htsim --connections FILE --topology %s"},
	{"a connection matrix of htsim", ".cm", regexp.MustCompile(`^(Nodes|Connections|Triggers|Failures) [0-9]+\s`), func(f File) (*Imported, error) {
		return HTSim(f, HTSimSetup{Start: unit.Microsecond, Options: &forAllSchemes})
	}, ""},
	{"a list of flows of the HPCC simulator", "", regexp.MustCompile(`^[0-9]+\s*\n\s*([0-9]+[ \t]+){4,6}[0-9.]+([eE][-+]?[0-9]+)?\s`), nil, "hpcc --topology FILE --flows %s"},
	{"a topology of the HPCC simulator", "", regexp.MustCompile(`^[0-9]+ [0-9]+ [0-9]+\s*\n[0-9\s]+[KMGT]?bps\s`), nil, "hpcc --topology %s --flows FILE"},
	{"a Chakra execution trace of one rank", ".et", regexp.MustCompile(`(?s)^.{0,3}(\n[\x05-\x08\x0b\x0c\x0e\x0f][0-9]+\.[0-9]+\.[0-9]|\x12.{1,2}\n\x06schema)`), nil, "chakra --traces 'NAME.*.et'"},
	{"a configuration of the HPCC simulator", "", regexp.MustCompile(`^([A-Z0-9_]+\s.*\n\s*)*CC_MODE\s+[0-9]`), nil, "hpcc --topology FILE --flows FILE --config %s"},
}

// forAllSchemes has packets that all schemes can send: the default of htsim's UEC driver is not one of whole words.
var forAllSchemes = HTSimOptions{numbers: map[string]float64{optMTU: uecMTU / topology.PayloadWord * topology.PayloadWord}}

// comments are the lines and comments before the first word of a file.
var comments = regexp.MustCompile(`^(\s+|#.*|//.*|/\*(?s:.*?)\*/)+`)

// kindLimit is the number of bytes, after comments, by which a kind is recognised.
const kindLimit = 1 << 16

// fits reports whether a file, whose text begins with head after comments, is of the kind.
func (k *kind) fits(f File, head string) bool {
	if k.begins == nil {
		return isCapture(f.Data)
	}
	return k.begins.MatchString(head) || k.suffix != "" && filepath.Ext(f.Name) == k.suffix || k.suffix == ".et" && strings.HasSuffix(f.Name, ".et.gz")
}

// Recognise returns the kind of a file that is no scenario, in words, and the scenario that it makes by itself. It returns
// "" if the file is of no known kind, and an error if it needs others or is faulty.
func Recognise(f File) (what string, made *Imported, err error) {
	head := string(f.Data[:min(len(f.Data), kindLimit)])
	head = strings.TrimPrefix(head, comments.FindString(head)) + "\n"
	for _, k := range kinds {
		if !k.fits(f, head) {
			continue
		}
		switch {
		case k.alone == nil:
			return k.what, nil, fmt.Errorf("%s is %s, which needs others: rackfab import %s -o scenario.yaml", f.Name, k.what, strings.ReplaceAll(k.needs, "%s", f.Name))
		case len(f.Data) > MaxFile:
			return k.what, nil, fmt.Errorf("%s: larger than %d bytes, the most that can be imported", f.Name, MaxFile)
		}
		made, err = k.alone(f)
		return k.what, made, err
	}
	return "", nil, nil
}

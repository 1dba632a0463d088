package imports

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
)

// HTSimOption is an option of htsim's UEC driver (main_uec.cpp of uet-htsim 40ccb05).
type HTSimOption struct {
	Name string // without the hyphen, "hop_latency"
	Flag string // of rackfab import htsim; "" if only a command line of the driver gives it
	Kind string // of its value, with the unit; "" if it has none
	Doc  string
	// lo and hi are the least and the largest number. step is the unit of which it is a multiple, 0 for any number.
	lo, hi, step float64
	words        []string // the values, if they are words
}

// Names of options that settings refer to.
const (
	optMTU, optQueue, optPaths, optBalancing = "mtu", "q", "paths", "load_balancing_algo"
	optWindow, optSpeed, optHop, optLatency  = "cwnd", "linkspeed", "hop_latency", "switch_latency"
	optFailed, optSACK, optTiers, optNodes   = "failed", "sack_threshold", "tiers", "nodes"
	optSender, optReceiver                   = "sender_cc_only", "receiver_cc_only"
	optBoth                                  = "receiver_cc"
	optEnd, optSeed, optFactor, optNoTrim    = "end", "seed", "queue_size_bdp_factor", "disable_trim"
	optLow, optHigh, optTarget, optGate      = "ecn low", "ecn high", "target_q_delay", "qa_gate"
	optTrim, optSLEEK                        = "trimsize", "sleek"
)

// HTSimOptionTable lists the options that are read. All numbers have the driver's units.
var HTSimOptionTable = []HTSimOption{
	{optMTU, "mtu", "bytes", "size of a packet, 64 bytes of headers included (default 4150)", uecHeaders + 4, uecHeaders + frame.MaxUETPayload, 1, nil},
	{optQueue, "q", "packets", "length of a queue (default 1 BDP, 5 with -disable_trim)", 1, 1e6, 1, nil},
	{optPaths, "paths", "n", "entropies of a flow, a power of two, or 1 (default 64)", 1, 1024, 1, nil},
	{optBalancing, "load-balancing", "algorithm", "entropy of each packet: bitmap, reps, reps_legacy, oblivious or mixed (default mixed)", 0, 0, 0, []string{"bitmap", "reps", "reps_legacy", "oblivious", "mixed"}},
	{optWindow, "cwnd", "packets", "initial window (default 1.5 BDP)", 1, 1e6, 1, nil},
	{optSpeed, "linkspeed", "Mbit/s", "rate of the links without --topology (default 100000)", 1000, 10e6, 1000, nil},
	{optHop, "hop-latency", "us", "delay of a link without --topology (default 1)", 0.001, 4e5, 0.001, nil},
	{optLatency, "", "us", "", 0, 4e5, 0.001, nil},
	{optFailed, "failed", "n", "number of links with a quarter of their rate (default 0)", 0, topology.MaxLinks, 1, nil},
	{optSACK, "sack-threshold", "bytes", "received bytes after which an ACK is sent (default 16384)", 1, 1e9, 1, nil},
	{optTiers, "tiers", "n", "tiers of the fat tree without --topology, 2 or 3 (default 3)", 2, 3, 1, nil},
	{optNodes, "", "n", "", 1, topology.MaxNodes - 1, 1, nil},
	{Name: optSender, Flag: "sender-cc-only", Doc: "compare nscc alone (default)"},
	{Name: optReceiver, Flag: "receiver-cc-only", Doc: "compare rccc alone"},
	{Name: "sender_cc"},
	{Name: optBoth},
	{Name: optNoTrim},
	{Name: optSLEEK},
	{optEnd, "", "us", "", 1, topology.LongestRun.Seconds() * 1e6, 1, nil},
	{optSeed, "", "n", "", 0, htsimInt, 1, nil},
	{optFactor, "", "n", "", 1, 1000, 1, nil},
	{optLow, "", "packets", "", 0, 1e6, 1, nil},
	{optHigh, "", "packets", "", 1, 1e6, 1, nil},
	{optTarget, "", "us", "", 0.001, 1e6, 0, nil},
	{optGate, "", "n", "", 0, 16, 1, nil},
	{optTrim, "", "bytes", "", uecHeaders, 16000, 1, nil},
}

// HTSimOptions are the options that were given. The zero value has the driver's defaults.
type HTSimOptions struct {
	numbers map[string]float64
	words   map[string]string
}

// Set sets an option of HTSimOptionTable. The text of an option without a value is "". The error says which values
// are allowed.
func (o *HTSimOptions) Set(name, text string) error {
	i := slices.IndexFunc(HTSimOptionTable, func(opt HTSimOption) bool { return opt.Name == name })
	opt := &HTSimOptionTable[i]
	if opt.words != nil {
		if !slices.Contains(opt.words, text) {
			return fmt.Errorf("%q, want one of %s", text, strings.Join(opt.words, ", "))
		}
		if o.words == nil {
			o.words = map[string]string{}
		}
		o.words[name] = text
		return nil
	}
	v := 1.0
	if opt.Kind != "" {
		var err error
		if v, err = opt.number(text); err != nil {
			return err
		}
	}
	if o.numbers == nil {
		o.numbers = map[string]float64{}
	}
	switch name { // the last one counts
	case optSender:
		delete(o.numbers, optReceiver)
		delete(o.numbers, optBoth)
	case optReceiver:
		delete(o.numbers, optSender)
	}
	o.numbers[name] = v
	return nil
}

// number reads the value of an option.
func (opt *HTSimOption) number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !(v >= opt.lo && v <= opt.hi):
		return 0, fmt.Errorf("%q, want a number from %v to %v (%s)", text, opt.lo, opt.hi, opt.Kind)
	case opt.step > 0 && !multiple(v, opt.step):
		return 0, fmt.Errorf("%q, want a multiple of %v (%s)", text, opt.step, opt.Kind)
	case opt.Name == optPaths && bits.OnesCount(uint(v)) != 1:
		return 0, fmt.Errorf("%q, want a power of two", text)
	}
	return v, nil
}

// multiple reports whether a number is a multiple of a step, up to rounding.
func multiple(v, step float64) bool {
	n := v / step
	return abs(n-float64(int64(n+0.5))) < 1e-6
}

func abs(v float64) float64 { return max(v, -v) }

// get returns a number, or another one if it was not given.
func (o *HTSimOptions) get(name string, without float64) float64 {
	if v, ok := o.numbers[name]; ok {
		return v
	}
	return without
}

// has reports whether an option was given.
func (o *HTSimOptions) has(name string) bool { return o.numbers[name] > 0 }

// over sets the options that others have.
func (o *HTSimOptions) over(others *HTSimOptions) {
	for name, v := range others.numbers {
		_ = o.Set(name, strconv.FormatFloat(v, 'f', -1, 64)) // they were set before
	}
	for name, text := range others.words {
		_ = o.Set(name, text)
	}
}

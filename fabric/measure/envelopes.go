package measure

import (
	"fmt"
	"strings"
)

// EnvelopeFaults counts the faults on the bus as the nodes report them. They do not
// affect the results of a run: lost envelopes are resent, and envelopes of other runs
// are ignored.
type EnvelopeFaults struct {
	Missed       int64 `json:"envelopes_missed"`      // requests for a missing envelope
	Resent       int64 `json:"envelopes_resent"`      // envelopes sent again
	Unpublished  int64 `json:"envelopes_unpublished"` // envelopes that the bus refused; included in Resent
	Repeated     int64 `json:"envelopes_repeated"`    // duplicates received
	Early        int64 `json:"envelopes_early"`       // received ahead of their turn
	Malformed    int64 `json:"envelopes_malformed"`   // messages that are not envelopes, or violate a rule of the link
	Oversized    int64 `json:"envelopes_oversized"`   // messages longer than the largest envelope
	OtherVersion int64 `json:"envelopes_version"`     // of another protocol version
	Foreign      int64 `json:"envelopes_foreign"`     // of another run, or not of a link of the node
	Struck       int64 `json:"envelopes_struck"`      // lost, duplicated or delayed by fault injection
}

// faultCount is one count with its name in messages.
type faultCount struct {
	n    *int64
	name string
}

// counts lists the counts, those that indicate an error first.
func (f *EnvelopeFaults) counts() []faultCount {
	return []faultCount{
		{&f.Malformed, "malformed"},
		{&f.Oversized, "oversized"},
		{&f.OtherVersion, "of another version"},
		{&f.Foreign, "foreign"},
		{&f.Struck, "impaired by fault injection"},
		{&f.Missed, "missed"},
		{&f.Resent, "resent"},
		{&f.Unpublished, "refused by the bus"},
		{&f.Repeated, "repeated"},
		{&f.Early, "early"},
	}
}

// addFaults adds a node's counts to f.
func addFaults(f *EnvelopeFaults, o EnvelopeFaults) {
	others := o.counts()
	for i, c := range f.counts() {
		*c.n += *others[i].n
	}
}

// FaultsInWords lists the nonzero counts. It returns "" if all are 0.
func FaultsInWords(f EnvelopeFaults) string {
	var parts []string
	for _, c := range f.counts() {
		if *c.n != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", *c.n, c.name))
		}
	}
	return strings.Join(parts, ", ")
}

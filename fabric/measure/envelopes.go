package measure

import (
	"fmt"
	"strings"
)

// EnvelopeFaults counts what went wrong on the bus, by the nodes' own account.
// None of it changes a run: what is lost is sent again, and what does not belong
// to the run is left.
type EnvelopeFaults struct {
	Missed       int64 `json:"envelopes_missed"`      // times that an envelope was missed and asked for
	Resent       int64 `json:"envelopes_resent"`      // sent again
	Unpublished  int64 `json:"envelopes_unpublished"` // that the bus refused to take; they are among the resent
	Repeated     int64 `json:"envelopes_repeated"`    // that came in again
	Early        int64 `json:"envelopes_early"`       // that came in before their turn
	Malformed    int64 `json:"envelopes_malformed"`   // messages that are no envelope, or break a rule of the link
	Oversized    int64 `json:"envelopes_oversized"`   // messages longer than an envelope may be
	OtherVersion int64 `json:"envelopes_version"`     // of another version of the protocol
	Foreign      int64 `json:"envelopes_foreign"`     // of another run, or on no link of the node
	Struck       int64 `json:"envelopes_struck"`      // that the bus lost, repeated or delayed on purpose
}

// addFaults adds a node's counts to f.
func addFaults(f *EnvelopeFaults, o EnvelopeFaults) {
	f.Missed += o.Missed
	f.Resent += o.Resent
	f.Unpublished += o.Unpublished
	f.Repeated += o.Repeated
	f.Early += o.Early
	f.Malformed += o.Malformed
	f.Oversized += o.Oversized
	f.OtherVersion += o.OtherVersion
	f.Foreign += o.Foreign
	f.Struck += o.Struck
}

// FaultsInWords lists the counts that are not 0, "" if all are.
func FaultsInWords(f EnvelopeFaults) string {
	var parts []string
	for _, c := range []struct {
		n    int64
		what string
	}{
		{f.Malformed, "malformed"},
		{f.Oversized, "oversized"},
		{f.OtherVersion, "of another version"},
		{f.Foreign, "foreign"},
		{f.Struck, "struck on purpose"},
		{f.Missed, "missed"},
		{f.Resent, "resent"},
		{f.Unpublished, "not taken by the bus"},
		{f.Repeated, "repeated"},
		{f.Early, "early"},
	} {
		if c.n != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(parts, ", ")
}

package cc

import (
	"cmp"
	"errors"

	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

// DefaultRCCC returns the settings of RCCC, the receiver credit of UEC 1.0 (§3.6.14), as
// ultraethernet/uet-htsim has them: its specification's pseudocode was not available.
func DefaultRCCC() credit.Params {
	p := credit.Default()
	p.Active, p.Idle = 4, 4          // uec.cpp 32 to 36: 4 packets of credit per pull, in both lists
	p.Law = credit.LawShared         // uec.cpp: less the credit held, divided by the active senders
	p.BaseRTT = 0                    // that of the longest path, as for NSCC
	p.Retry = 100 * unit.Microsecond // uec.h: the smallest RTO, after which an RTS asks for credit
	return p
}

func validateRCCC(p *Params) error {
	rccc := p.RCCC
	rccc.BaseRTT = cmp.Or(rccc.BaseRTT, credit.Default().BaseRTT)
	return errors.Join(rccc.Validate(), p.NSCC.Validate(), p.MRC.Validate())
}

// reactRCCC returns the window of NSCC if that is to limit flows besides credit.
func reactRCCC(p *Params, path Path, initial unit.Rate) Algorithm {
	if p.NSCC.Credit {
		return NewNSCC(p.NSCC, path, initial)
	}
	return NewFixed(initial)
}

// alone returns the settings of NSCC without receiver credit.
func (p NSCCParams) alone() NSCCParams {
	p.Credit = false
	return p
}

// completeRCCC makes the settings of RCCC those of receiver credit.
func completeRCCC(p *Params, _ func() unit.Time, longest unit.Time) {
	p.Credit = p.RCCC
	if p.Credit.BaseRTT == 0 {
		p.Credit.BaseRTT = cmp.Or(longest, credit.Default().BaseRTT)
	}
}

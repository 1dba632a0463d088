package cc

import (
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Params holds the settings of every scheme.
type Params struct {
	Credit credit.Params // cbrc and cbrc-aimd; the scheme sets AIMD
	RCCC   credit.Params // rccc; its BaseRTT is 0 for that of the rack's longest path
	QCN    QCNParams
	DCQCN  DCQCNParams
	TIMELY TIMELYParams
	// TIMELYECN extends TIMELY and DCQCN for the scheme timely-ecn.
	TIMELYECN  TIMELYECNParams
	TIMELYRTTX TIMELYParams // TIMELY's settings under timely-rttx
	PCN        PCNParams
	CETH       CETHParams
	DCTCP      DCTCPParams
	Swift      SwiftParams
	HPCC       HPCCParams
	PowerTCP   PowerTCPParams
	IRN        IRNParams // irn, and NICs with selective repeat under other schemes
	NSCC       NSCCParams
	MRC        MRCParams // mrc, and NICs that spray under other schemes
}

// Default returns the published settings of every scheme.
func Default() Params {
	return Params{
		Credit: credit.Default(), RCCC: DefaultRCCC(), QCN: DefaultQCN(), DCQCN: DefaultDCQCN(),
		TIMELY: DefaultTIMELY(), TIMELYECN: DefaultTIMELYECN(), TIMELYRTTX: DefaultTIMELYRTTX(), PCN: DefaultPCN(), CETH: DefaultCETH(),
		DCTCP: DefaultDCTCP(), Swift: DefaultSwift(), HPCC: DefaultHPCC(), PowerTCP: DefaultPowerTCP(), IRN: DefaultIRN(), NSCC: DefaultNSCC(), MRC: DefaultMRC(),
	}
}

// Validate returns all invalid settings of the named scheme as one error, or
// nil.
func (p Params) Validate(scheme string) error {
	s, err := Find(scheme)
	if err != nil || s.validate == nil {
		return nil
	}
	return s.validate(&p)
}

// Burst returns the payload bytes that a flow sends back to back under the
// named scheme, or 0 if each packet is paced.
func (p Params) Burst(scheme string) unit.Bytes {
	s, err := Find(scheme)
	if err != nil || s.burst == nil {
		return 0
	}
	return s.burst(&p)
}

// Windowed reports whether flows with receiver credit under the named scheme have the window of NSCC
// too.
func (p *Params) Windowed(scheme string) bool { return p.NSCC.Credit && scheme == "rccc" }

// New returns the reaction point of a flow under the named scheme. initial is the
// initial rate of the flow; 0 means line rate.
func New(scheme string, p Params, path Path, initial unit.Rate) (Algorithm, error) {
	s, err := Find(scheme)
	if err != nil {
		return nil, err
	}
	if initial <= 0 || initial > path.Rate {
		initial = path.Rate
	}
	if s.react == nil {
		return NewFixed(initial), nil
	}
	return s.react(&p, path, initial), nil
}

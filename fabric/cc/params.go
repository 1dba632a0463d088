package cc

import (
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Params holds the settings of every scheme.
type Params struct {
	Credit credit.Params // cbrc and cbrc-aimd; AIMD is set by the scheme
	QCN    QCNParams
	DCQCN  DCQCNParams
	TIMELY TIMELYParams
	// TIMELYECN is what timely-ecn adds to TIMELY and DCQCN.
	TIMELYECN  TIMELYECNParams
	TIMELYRTTX TIMELYParams // TIMELY's under timely-rttx
	PCN        PCNParams
	CETH       CETHParams
}

// Default gives the published settings of every scheme.
func Default() Params {
	return Params{
		Credit: credit.Default(), QCN: DefaultQCN(), DCQCN: DefaultDCQCN(),
		TIMELY: DefaultTIMELY(), TIMELYECN: DefaultTIMELYECN(), TIMELYRTTX: DefaultTIMELYRTTX(), PCN: DefaultPCN(), CETH: DefaultCETH(),
	}
}

// Validate names everything that the named scheme cannot work with, nil if there
// is nothing.
func (p Params) Validate(scheme string) error {
	s, err := Find(scheme)
	if err != nil || s.validate == nil {
		return nil
	}
	return s.validate(&p)
}

// Burst gives how much payload a flow under the named scheme sends back to back,
// 0 if each packet is paced.
func (p Params) Burst(scheme string) unit.Bytes {
	s, err := Find(scheme)
	if err != nil || s.burst == nil {
		return 0
	}
	return s.burst(&p)
}

// New makes the reaction point of a flow under the named scheme. line is the
// rate of the NIC's link; initial is the rate at which the flow begins, line
// rate if 0.
func New(scheme string, p Params, line, initial unit.Rate) (Algorithm, error) {
	s, err := Find(scheme)
	if err != nil {
		return nil, err
	}
	if initial <= 0 || initial > line {
		initial = line
	}
	if s.react == nil {
		return NewFixed(initial), nil
	}
	return s.react(&p, line, initial), nil
}

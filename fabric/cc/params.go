package cc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Marking is the marking law that a scheme needs in the switches.
type Marking string

// Marking laws.
const (
	MarkNone  Marking = "none"  // no mark
	MarkRED   Marking = "red"   // random early detection
	MarkNPECN Marking = "npecn" // NP-ECN, PCN §5.1
	MarkQCN   Marking = "qcn"   // no mark, but CNMs to the senders of sampled frames, IEEE 802.1Qau
)

// Notification is what a receiver sends back beside ACKs.
type Notification string

// Notification modes.
const (
	NotifyNone   Notification = "none"   // nothing
	NotifyCredit Notification = "credit" // what it grants: the scheme runs over UET
	NotifyCETH   Notification = "ceth"   // nothing: the ACKs tell of congestion
	NotifyPCN    Notification = "pcn"    // a CNP every period, both ways, with RecRate (PCN §5.2)
	NotifyDCQCN  Notification = "dcqcn"  // a CNP for marked packets (DCQCN §3.1)
)

// Rewrite is what a switch makes of the marks of a traffic class.
type Rewrite string

// Rewrites.
const (
	RewriteNone Rewrite = "none" // nothing: they reach the receiver
	RewriteRTTX Rewrite = "rttx" // counted, cleared, and turned into RTT on the way back
)

// RTT is how a sender takes its samples of the round-trip time from the
// timestamps of an ACK.
type RTT string

// Forms of the RTT.
const (
	RTTNone     RTT = ""         // no timestamps, no samples
	RTTEcho     RTT = "echo"     // now less the echoed T_s: the sender's clock alone
	RTTReceiver RTT = "receiver" // T_r less T_s: the way there, by the clocks of both
	RTTOffset   RTT = "offset"   // T_r less T_s less the smallest of it so far: clocks may differ
)

// Scheme is a row of the table of schemes.
type Scheme struct {
	Name         string
	Title        string
	Marking      Marking
	Notification Notification
	Rewrite      Rewrite // empty is RewriteNone
	Timestamps   bool    // the reaction point needs samples of the RTT
}

// Schemes is the table of schemes, in the order in which they are compared.
var Schemes = []Scheme{
	{Name: "pfc", Title: "priority flow control alone", Marking: MarkNone, Notification: NotifyNone},
	{Name: "qcn", Title: "quantized congestion notification (IEEE 802.1Qau)", Marking: MarkQCN, Notification: NotifyNone},
	{Name: "dcqcn", Title: "data center quantized congestion notification (SIGCOMM'15)", Marking: MarkRED, Notification: NotifyDCQCN},
	{Name: "timely", Title: "RTT-based congestion control (SIGCOMM'15)", Marking: MarkNone, Notification: NotifyNone, Timestamps: true},
	{Name: "pcn", Title: "photonic congestion notification (NSDI'20)", Marking: MarkNPECN, Notification: NotifyPCN},
	{Name: "cnp", Title: "a CNP of its own for every marked packet, reaction point of DCQCN (what CETH compares with)", Marking: MarkRED, Notification: NotifyDCQCN},
	{Name: "ceth", Title: "congestion information in the ACK (CETH)", Marking: MarkRED, Notification: NotifyCETH},
	{Name: "timely-ecn", Title: "TIMELY that CNPs cut too: both signals at one sender, for comparison", Marking: MarkRED, Notification: NotifyDCQCN, Timestamps: true},
	{Name: "timely-rttx", Title: "TIMELY, with ECN turned into RTT by the switches (RTTX)", Marking: MarkRED, Notification: NotifyNone, Rewrite: RewriteRTTX, Timestamps: true},
	{Name: "cbrc", Title: "receiver credits (UET RCCC, EQDS)", Marking: MarkNone, Notification: NotifyCredit},
	{Name: "cbrc-aimd", Title: "receiver credits with AIMD for senders that cannot spend them (CBRC)", Marking: MarkNone, Notification: NotifyCredit},
}

// Find gives the scheme of that name, or an error that lists the names.
func Find(name string) (Scheme, error) {
	names := make([]string, len(Schemes))
	for i, s := range Schemes {
		if s.Name == name {
			return s, nil
		}
		names[i] = s.Name
	}
	return Scheme{}, fmt.Errorf("unknown scheme %q, want one of %s", name, strings.Join(names, ", "))
}

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
	switch scheme {
	case "qcn":
		return p.QCN.Validate()
	case "dcqcn", "cnp":
		return p.DCQCN.Validate()
	case "timely":
		return p.TIMELY.Validate()
	case "timely-ecn":
		return errors.Join(p.TIMELYECN.Validate(), p.TIMELY.Validate(), p.DCQCN.Validate())
	case "timely-rttx":
		return p.TIMELYRTTX.Validate()
	case "pcn":
		return p.PCN.Validate()
	case "ceth":
		return p.CETH.Validate()
	}
	return nil
}

// Burst gives how much payload a flow under the named scheme sends back to back,
// 0 if each packet is paced.
func (p Params) Burst(scheme string) unit.Bytes {
	t := TIMELYParams{}
	switch scheme {
	case "timely", "timely-ecn":
		t = p.TIMELY
	case "timely-rttx":
		t = p.TIMELYRTTX
	}
	if !t.Burst {
		return 0
	}
	return t.Segment
}

// New makes the reaction point of a flow under the named scheme. line is the
// rate of the NIC's link; initial is the rate at which the flow begins, line
// rate if 0.
func New(scheme string, p Params, line, initial unit.Rate) (Algorithm, error) {
	if initial <= 0 || initial > line {
		initial = line
	}
	switch scheme {
	case "pfc", "cbrc", "cbrc-aimd":
		return NewFixed(initial), nil
	case "qcn":
		return NewQCN(p.QCN, line, initial), nil
	case "dcqcn", "cnp":
		if p.DCQCN.CutPeriod > 0 {
			return NewConnectX(p.DCQCN, line, initial), nil
		}
		return NewDCQCN(p.DCQCN, line, initial), nil
	case "timely":
		return NewTIMELY(p.TIMELY, line, initial), nil
	case "ceth":
		return NewCETH(p.CETH, line, initial), nil
	case "timely-ecn":
		return NewTIMELYECN(p.TIMELYECN, p.TIMELY, p.DCQCN, line, initial), nil
	case "timely-rttx":
		return NewTIMELY(p.TIMELYRTTX, line, initial), nil
	case "pcn":
		return NewPCN(p.PCN, line, initial), nil
	}
	_, err := Find(scheme)
	return nil, err
}

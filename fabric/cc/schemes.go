package cc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Marking is the marking law that a scheme needs in the switches.
type Marking string

// Marking laws.
const (
	MarkNone  Marking = "none"  // no marking
	MarkRED   Marking = "red"   // random early detection
	MarkNPECN Marking = "npecn" // NP-ECN, PCN §5.1
	MarkStep  Marking = "step"  // every frame above a queue length (DCTCP)
	MarkBDP   Marking = "bdp"   // random early detection between shares of the BDP (UEC 1.0)
	MarkQCN   Marking = "qcn"   // no marking; CNMs to the senders of sampled frames, IEEE 802.1Qau
)

// Notification is the kind of feedback that a receiver sends besides ACKs.
type Notification string

// Notification modes.
const (
	NotifyNone   Notification = "none"   // nothing
	NotifyCredit Notification = "credit" // grants of credit: the scheme runs over UET
	NotifyNSCC   Notification = "nscc"   // nothing: the ACKs carry the state of NSCC; the scheme runs over UET
	NotifyCETH   Notification = "ceth"   // nothing: the ACKs carry the congestion notification
	NotifyEcho   Notification = "echo"   // nothing: the ACKs echo whether packets were marked (RFC 8257 §3.2)
	NotifyLoad   Notification = "load"   // nothing: data packets collect the load of the path, which the ACKs echo
	NotifyPCN    Notification = "pcn"    // a CNP every period, both ways, with RecRate (PCN §5.2)
	NotifyDCQCN  Notification = "dcqcn"  // a CNP for marked packets (DCQCN §3.1)
)

// UET reports whether flows run over UET instead of RoCEv2.
func (n Notification) UET() bool { return n == NotifyCredit || n == NotifyNSCC }

// Rewrite is a switch's treatment of ECN marks in a traffic class.
type Rewrite string

// Rewrites.
const (
	RewriteNone Rewrite = "none" // left unchanged up to the receiver
	RewriteRTTX Rewrite = "rttx" // counted, cleared, and converted into RTT on the way back
)

// ShortestProbe is the shortest interval between the RTT probes of a sender.
const ShortestProbe = unit.Microsecond

// RTT is how a sender computes RTT samples from the timestamps of an ACK.
type RTT string

// Forms of the RTT.
const (
	RTTNone     RTT = ""         // no timestamps, no samples
	RTTEcho     RTT = "echo"     // now minus the echoed T_s: the sender's clock only
	RTTReceiver RTT = "receiver" // T_r minus T_s: the forward path, by both clocks
	RTTOffset   RTT = "offset"   // T_r minus T_s minus its minimum so far: the clocks may differ
)

// Scheme is a row of the table of schemes.
type Scheme struct {
	Name         string
	Title        string
	Marking      Marking
	Notification Notification
	Rewrite      Rewrite  // empty means RewriteNone
	Recovery     Recovery // of its flows; empty means RecoveryGoBackN
	Entropy      Entropy  // of the packets of its flows; empty means EntropyFlow
	Lossy        bool     // switches drop instead of pausing: no class is lossless
	BareLastHop  bool     // ports that lead to hosts do not mark
	Trim         bool     // switches trim packets instead of dropping them; requires Lossy
	Timestamps   bool     // the reaction point needs RTT samples
	Settings     string   // the scheme whose settings it shares, "" if it has its own
	Baseline     string   // the scheme of flows with an end that does not support this one; "" if every NIC does
	// Static says why flows cannot change to or from the scheme while they run; "" if
	// they can.
	Static string

	// complete sets what the scheme implies; nil if nothing.
	complete func(p *Params, baseRTT func() unit.Time, longest unit.Time)
	// react returns the reaction point of a flow; nil if the rate is fixed.
	react func(p *Params, path Path, initial unit.Rate) Algorithm
	// validate returns all invalid settings as one error; nil if the scheme has
	// no settings.
	validate func(p *Params) error
	// burst returns the result of Params.Burst; nil if each packet is paced.
	burst func(p *Params) unit.Bytes
}

// Schemes is the table of schemes, in the order of comparisons.
var Schemes = []Scheme{
	{
		Name: "pfc", Title: "priority flow control alone", Marking: MarkNone, Notification: NotifyNone,
	},
	{
		Name: "qcn", Title: "quantized congestion notification (IEEE 802.1Qau)", Marking: MarkQCN, Notification: NotifyNone,
		react:    func(p *Params, path Path, initial unit.Rate) Algorithm { return NewQCN(p.QCN, path.Rate, initial) },
		validate: func(p *Params) error { return p.QCN.Validate() },
	},
	{
		Name: "dcqcn", Title: "data center quantized congestion notification (SIGCOMM'15)", Marking: MarkRED, Notification: NotifyDCQCN,
		react: reactDCQCN, validate: validateDCQCN,
	},
	{
		Name: "timely", Title: "RTT-based congestion control (SIGCOMM'15)", Marking: MarkNone, Notification: NotifyNone, Timestamps: true,
		react: func(p *Params, path Path, initial unit.Rate) Algorithm {
			return NewTIMELY(p.TIMELY, path.Rate, initial)
		},
		validate: func(p *Params) error { return p.TIMELY.Validate() },
		burst:    burstTIMELY,
	},
	{
		Name: "pcn", Title: "photonic congestion notification (NSDI'20)", Marking: MarkNPECN, Notification: NotifyPCN,
		react:    func(p *Params, path Path, initial unit.Rate) Algorithm { return NewPCN(p.PCN, path.Rate, initial) },
		validate: func(p *Params) error { return p.PCN.Validate() },
	},
	{
		Name: "cnp", Title: "one CNP per marked packet, with DCQCN's reaction point (the baseline of the CETH document)", Marking: MarkRED, Notification: NotifyDCQCN,
		Settings: "dcqcn", react: reactDCQCN, validate: validateDCQCN,
		Static:   "sets the notification point of all flows from the start",
		complete: func(p *Params, _ func() unit.Time, _ unit.Time) { p.DCQCN.CNPInterval, p.DCQCN.CNPGap = 0, 0 },
	},
	{
		Name: "ceth", Title: "congestion information in the ACK (CETH)", Marking: MarkRED, Notification: NotifyCETH, Baseline: "dcqcn",
		Static:   "reports congestion in ACKs, in a format that both ends and the switches use from the start",
		react:    func(p *Params, path Path, initial unit.Rate) Algorithm { return NewCETH(p.CETH, path.Rate, initial) },
		validate: func(p *Params) error { return p.CETH.Validate() },
		complete: func(p *Params, baseRTT func() unit.Time, _ unit.Time) {
			if p.CETH.Window == 0 {
				p.CETH.Window = baseRTT()
			}
		},
	},
	{
		Name: "timely-ecn", Title: "TIMELY and DCQCN's CNP cuts in one sender, for comparison with timely-rttx", Marking: MarkRED, Notification: NotifyDCQCN, Timestamps: true,
		react: func(p *Params, path Path, initial unit.Rate) Algorithm {
			return NewTIMELYECN(p.TIMELYECN, p.TIMELY, p.DCQCN, path.Rate, initial)
		},
		validate: func(p *Params) error {
			return errors.Join(p.TIMELYECN.Validate(), p.TIMELY.Validate(), p.DCQCN.Validate())
		},
		burst: burstTIMELY,
	},
	{
		Name: "timely-rttx", Title: "TIMELY, with switches that convert ECN marks into RTT (RTTX)", Marking: MarkRED, Notification: NotifyNone, Rewrite: RewriteRTTX, Timestamps: true,
		Static: "needs the flow tables of the switches from the start",
		react: func(p *Params, path Path, initial unit.Rate) Algorithm {
			return NewTIMELY(p.TIMELYRTTX, path.Rate, initial)
		},
		validate: func(p *Params) error { return p.TIMELYRTTX.Validate() },
		burst:    func(p *Params) unit.Bytes { return p.TIMELYRTTX.burst() },
	},
	{
		Name: "cbrc", Title: "receiver credits (UET RCCC, EQDS)", Marking: MarkNone, Notification: NotifyCredit,
		Static: notRoCE, validate: validateCredit,
	},
	{
		Name: "cbrc-aimd", Title: "receiver credits with AIMD for senders that cannot spend them (CBRC)", Marking: MarkNone, Notification: NotifyCredit,
		Settings: "cbrc", Static: notRoCE, validate: validateCredit,
		complete: func(p *Params, _ func() unit.Time, _ unit.Time) { p.Credit.AIMD = true },
	},
	{
		Name: "dctcp", Title: "rate by the share of marked packets (DCTCP, SIGCOMM'10, in the form of the HPCC simulator)", Marking: MarkStep, Notification: NotifyEcho,
		react:    func(p *Params, path Path, initial unit.Rate) Algorithm { return NewDCTCP(p.DCTCP, path, initial) },
		validate: func(p *Params) error { return p.DCTCP.Validate() },
	},
	{
		Name: "swift", Title: "delay target with hop and flow scaling (Swift, SIGCOMM'20, in the form of htsim)", Marking: MarkNone, Notification: NotifyNone, Timestamps: true,
		react:    func(p *Params, path Path, initial unit.Rate) Algorithm { return NewSwift(p.Swift, path, initial) },
		validate: func(p *Params) error { return p.Swift.Validate() },
	},
	{
		Name: "hpcc", Title: "rate by the load of each hop, which switches write into packets (HPCC, SIGCOMM'19)", Marking: MarkNone, Notification: NotifyLoad,
		Static:   "needs telemetry in data packets and ACKs from the start",
		react:    func(p *Params, path Path, initial unit.Rate) Algorithm { return NewHPCC(p.HPCC, path, initial) },
		validate: func(p *Params) error { return p.HPCC.Validate() },
	},
	{
		Name: "powertcp", Title: "rate by the power of each hop, its arrival rate times its queue and bandwidth-delay product (PowerTCP, NSDI'22)", Marking: MarkNone, Notification: NotifyLoad,
		Static:   "needs telemetry in data packets and ACKs from the start",
		react:    func(p *Params, path Path, initial unit.Rate) Algorithm { return NewPowerTCP(p.PowerTCP, path, initial) },
		validate: func(p *Params) error { return p.PowerTCP.Validate() },
	},
	{
		Name: "irn", Title: "DCQCN without PFC: selective repeat, and packets in flight bounded by the bandwidth-delay product (IRN, SIGCOMM'18)",
		Marking: MarkRED, Notification: NotifyDCQCN, Recovery: RecoverySelective, Lossy: true,
		Static:   "uses another loss recovery than the other schemes, and no PFC",
		react:    reactDCQCN,
		validate: func(p *Params) error { return errors.Join(p.DCQCN.Validate(), p.IRN.Validate()) },
	},
	{
		Name: "mrc", Title: "NSCC over RoCEv2 on several paths, with trimming in place of PFC (OCP MRC 1.0, as far as it is public)",
		Marking: MarkBDP, Notification: NotifyNone, Recovery: RecoverySpraying, Entropy: EntropyMixed, Lossy: true, Trim: true, Timestamps: true,
		Static:   "uses another loss recovery than the other schemes, and no PFC",
		react:    func(p *Params, path Path, initial unit.Rate) Algorithm { return NewNSCC(p.NSCC, path, initial) },
		validate: func(p *Params) error { return errors.Join(p.NSCC.Validate(), p.MRC.Validate()) },
	},
	{
		Name: "nscc", Title: "window by delay, marks and trimmed packets (NSCC, Ultra Ethernet 1.0)", Marking: MarkBDP, Notification: NotifyNSCC,
		Recovery: RecoverySpraying, Entropy: EntropyMixed, Lossy: true, Trim: true, Static: notRoCE,
		react:    func(p *Params, path Path, initial unit.Rate) Algorithm { return NewNSCC(p.NSCC.alone(), path, initial) },
		validate: func(p *Params) error { return errors.Join(p.NSCC.Validate(), p.MRC.Validate()) },
	},
	{
		Name: "rccc", Title: "receiver credit (RCCC, Ultra Ethernet 1.0), with the window of NSCC if nscc.credit is set", Marking: MarkBDP, BareLastHop: true, Notification: NotifyCredit,
		Recovery: RecoverySpraying, Entropy: EntropyMixed, Lossy: true, Trim: true, Static: notRoCE,
		react: reactRCCC, complete: completeRCCC, validate: validateRCCC,
	},
	// A new scheme is added here: comparisons list the schemes in this order.
}

const notRoCE = "uses another transport than RoCEv2"

func reactDCQCN(p *Params, path Path, initial unit.Rate) Algorithm {
	if p.DCQCN.CutPeriod > 0 {
		return NewConnectX(p.DCQCN, path.Rate, initial)
	}
	return NewDCQCN(p.DCQCN, path.Rate, initial)
}

func validateDCQCN(p *Params) error { return p.DCQCN.Validate() }

func validateCredit(p *Params) error { return p.Credit.Validate() }

func burstTIMELY(p *Params) unit.Bytes { return p.TIMELY.burst() }

// Find returns the scheme of that name, or an error that lists the valid names.
func Find(name string) (Scheme, error) {
	for i := range Schemes {
		if Schemes[i].Name == name {
			return Schemes[i], nil
		}
	}
	return Scheme{}, fmt.Errorf("unknown scheme %q, want one of %s", name, strings.Join(Names(), ", "))
}

// Complete returns p with the settings that the scheme implies. baseRTT returns the
// longest round-trip time of the sender's flows in an idle rack; it is called only if the
// scheme needs it. longest is the RTT of the longest path of the rack.
func (s Scheme) Complete(p Params, baseRTT func() unit.Time, longest unit.Time) Params {
	if s.complete != nil {
		s.complete(&p, baseRTT, longest)
	}
	return p
}

// Choices returns the names of the schemes that flows can change to and from while they
// run, in table order.
func Choices() (names []string) {
	for i := range Schemes {
		if Schemes[i].Static == "" {
			names = append(names, Schemes[i].Name)
		}
	}
	return names
}

// Names returns the names of the schemes in table order.
func Names() []string {
	names := make([]string, len(Schemes))
	for i := range Schemes {
		names[i] = Schemes[i].Name
	}
	return names
}

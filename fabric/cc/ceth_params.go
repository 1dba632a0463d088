package cc

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// CETHMode selects the content of the congestion notification in an ACK.
type CETHMode string

// Modes.
const (
	CETHIndication  CETHMode = "indication"  // only that the path is congested (¶166 to ¶178, fig. 13)
	CETHInformation CETHMode = "information" // also how congested, and where (¶179 to ¶201, fig. 14)
)

// CETHForm selects the place of the information in the ACK.
type CETHForm string

// Forms.
const (
	CETHHeader CETHForm = "header" // a header after the AETH (fig. 9)
	CETHResv6  CETHForm = "resv6"  // the six reserved bits of the BTH, version and degree (fig. 10)
	CETHResv7  CETHForm = "resv7"  // the seven reserved bits, version, degree and type (fig. 10)
	CETHRatio6 CETHForm = "ratio6" // the six reserved bits, degree only
	CETHRatio7 CETHForm = "ratio7" // the seven reserved bits, degree only
)

// CETHSource selects the source of the receiver's information.
type CETHSource string

// Sources.
const (
	CETHWindow CETHSource = "window" // share of marked packets in a sliding window (¶185)
	CETHINT    CETHSource = "int"    // in-band network telemetry (¶186)
	CETHIOAM   CETHSource = "ioam"   // in-situ OAM (¶186)
	CETHSwitch CETHSource = "switch" // none at the receiver: switches write the notification into the ACK (¶9)
)

// CETHUse is the sender's use of an item.
type CETHUse string

// Uses.
const (
	CETHIgnore CETHUse = "ignore"
	CETHShare  CETHUse = "share"  // scales the current rate by a share
	CETHTable  CETHUse = "table"  // sets the rate to a share of line rate
	CETHRate   CETHUse = "rate"   // sets the rate
	CETHBudget CETHUse = "budget" // limits the number of packets that may be sent
)

// CETHClear is the sender's reaction to a path without congestion.
type CETHClear string

// Reactions to a clear path.
const (
	CETHKeep   CETHClear = "keep"   // keep the rate (¶30)
	CETHPreset CETHClear = "preset" // set the preset rate (¶31)
)

// CETHParams holds the settings of CETH: congestion information in the ACK.
// Source is the Huawei document. It gives no values, so all values are this
// project's.
type CETHParams struct {
	// Receiver.

	Mode   CETHMode
	Form   CETHForm
	Words  int // length of the header, 1 to 4: up to location, depth, delay, padding
	Source CETHSource
	// WindowPackets and WindowTime bound the sliding window: at most that many
	// of the flow's latest packets, none older than that.
	WindowPackets int
	WindowTime    unit.Time
	// Light and Medium are the upper bounds of the classes light and medium, 0
	// <= Light <= Medium <= 1; the class none is exactly 0. They apply to the
	// share of marked packets, or to the queue depth divided by Room.
	Light, Medium float64
	// Room is the capacity of a port's queue before it pauses or drops.
	Room unit.Bytes
	Hops int // maximum number of switches that write telemetry, 1 to 5
	// Interval is how long a requester waits for a READ request that can carry
	// the notification about the responses, before it sends a separate CNP
	// (above 0). Two CNPs about datagrams are that far apart.
	Interval unit.Time

	// Sender.

	// The use of each item, or ignore. Degree: share or table. Depth, which
	// stands for depth or location: budget. Delay: rate or budget.
	Degree, Depth, Delay CETHUse
	// Rates are the shares that remain in the classes none to heavy, in (0, 1]:
	// of the current rate in each window under CETHShare, of line rate under
	// CETHTable.
	Rates [4]float64
	Clear CETHClear
	// Preset is the preset rate as a share of line rate, in (0, 1].
	Preset float64
	// Window is the time window, in which the rate changes at most once. 0
	// means one base RTT of the scenario.
	Window unit.Time
	// Target is the delay up to which the rate is not reduced; 0 means half of
	// Window.
	Target unit.Time
	// Cut is the share by which the rate falls on congestion without
	// information, in (0, 1).
	Cut     float64
	MinRate unit.Rate // floor of the rate
}

// DefaultCETH returns the project's settings.
func DefaultCETH() CETHParams {
	return CETHParams{
		Mode: CETHInformation, Form: CETHHeader, Words: 3, Source: CETHWindow,
		WindowPackets: 32, WindowTime: 50 * unit.Microsecond,
		Light: 1.0 / 3, Medium: 2.0 / 3,
		Room: 200 * unit.Kilobyte, Hops: 5, Interval: 50 * unit.Microsecond,
		Degree: CETHShare, Depth: CETHIgnore, Delay: CETHIgnore,
		Rates: [4]float64{1, 0.75, 0.5, 0.25},
		Clear: CETHPreset, Preset: 1,
		Cut: 0.5, // DCQCN's first cut: half of alpha = 1
		// The floor of DCQCN in NS3-RDMA.
		MinRate: 100 * unit.MegabitPerSec,
	}
}

// Validate returns all invalid settings as one error, or nil.
func (p CETHParams) Validate() error {
	c := checks{scheme: "ceth"}
	c.want(oneOf(p.Mode, CETHIndication, CETHInformation), "mode %q, want indication or information", p.Mode)
	c.want(oneOf(p.Form, CETHHeader, CETHResv6, CETHResv7, CETHRatio6, CETHRatio7), "form %q, want header, resv6, resv7, ratio6 or ratio7", p.Form)
	c.want(oneOf(p.Source, CETHWindow, CETHINT, CETHIOAM, CETHSwitch), "source %q, want window, int, ioam or switch", p.Source)
	c.want(p.Source != CETHSwitch || p.Mode == CETHIndication || oneOf(p.Form, CETHResv6, CETHRatio6),
		"form %s with source switch, want resv6 or ratio6: a switch does not recompute the ICRC", p.Form)
	c.want(1 <= p.Words && p.Words <= 4, "words %d, want 1 to 4", p.Words)
	c.want(0 < p.WindowPackets && p.WindowPackets <= maxCETHWindow, "window_packets %d, want 1 to %d", p.WindowPackets, maxCETHWindow)
	c.want(p.WindowTime > 0, "window_time %s, want more than 0", p.WindowTime)
	c.want(0 <= p.Light && p.Light <= p.Medium && p.Medium <= 1, "light %v and medium %v, want 0 <= light <= medium <= 1", p.Light, p.Medium)
	c.want(p.Room > 0, "room %s, want more than 0", p.Room)
	c.want(p.Interval > 0, "interval %s, want more than 0", p.Interval)
	c.want(1 <= p.Hops && p.Hops <= 5, "hops %d, want 1 to 5", p.Hops)
	c.want(oneOf(p.Degree, CETHIgnore, CETHShare, CETHTable), "degree %q, want ignore, share or table", p.Degree)
	c.want(oneOf(p.Depth, CETHIgnore, CETHBudget), "depth %q, want ignore or budget", p.Depth)
	c.want(oneOf(p.Delay, CETHIgnore, CETHRate, CETHBudget), "delay %q, want ignore, rate or budget", p.Delay)
	c.want(oneOf(p.Clear, CETHKeep, CETHPreset), "clear %q, want keep or preset", p.Clear)
	for d, share := range p.Rates {
		c.want(0 < share && share <= 1, "rate_%s %v, want more than 0 and at most 1", Degree(d), share)
	}
	c.want(0 < p.Preset && p.Preset <= 1, "preset %v, want more than 0 and at most 1", p.Preset)
	c.want(p.Window >= 0 && p.Target >= 0, "window %s and target %s, want 0 or more", p.Window, p.Target)
	c.want(0 < p.Cut && p.Cut < 1, "cut %v, want more than 0 and less than 1", p.Cut)
	c.want(p.MinRate >= 0, "min_rate %s, want 0 or more", p.MinRate)
	return c.err()
}

// maxCETHWindow limits the memory of a receiver.
const maxCETHWindow = 1 << 16

func oneOf[V comparable](v V, words ...V) bool { return slices.Contains(words, v) }

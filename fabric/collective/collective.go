// Package collective expands collective operations into the steps of their ranks. It knows no host
// and no network: the peers of the steps are ranks, and the tags count from 0.
//
// The ring is that of Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 2009, §3; halving and doubling is Rabenseifner's (Thakur, Rabenseifner and
// Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 2005, §4); the double
// binary tree is that of Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast,
// reduction and scan", Parallel Computing 2009, §3, without the colours of its edges: a NIC sends and
// receives on both trees at once, and shares its link among their messages. Reductions take no time.
package collective

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Kind is what a collective achieves, by the name of the operation in MPI and NCCL.
type Kind string

// Kinds of collectives.
const (
	AllReduce     Kind = "all-reduce"     // each rank has the sum of all ranks' data
	AllGather     Kind = "all-gather"     // each rank has the segments of all ranks
	ReduceScatter Kind = "reduce-scatter" // each rank has the sum of one segment
	AllToAll      Kind = "all-to-all"     // each rank has one segment of each rank
	AllToAllV     Kind = "all-to-allv"    // each rank has what each rank has for it, by Sizes
	Broadcast     Kind = "broadcast"      // each rank has the data of rank 0
	Barrier       Kind = "barrier"        // no rank ends before all have begun
)

// Algorithm is how a collective is done.
type Algorithm string

// Algorithms.
const (
	Ring            Algorithm = "ring"             // each rank sends to the next one
	Direct          Algorithm = "direct"           // each rank sends to all others
	HalvingDoubling Algorithm = "halving-doubling" // each rank exchanges with those at distances of powers of two
	// DoubleBinaryTree sends half of the data along each of two trees, up to rank 0 and down from it.
	DoubleBinaryTree Algorithm = "double-binary-tree"
)

// supported lists the algorithms of each kind.
var supported = []struct {
	kind       Kind
	algorithms []Algorithm
}{
	{AllReduce, []Algorithm{Ring, Direct, HalvingDoubling, DoubleBinaryTree}},
	{AllGather, []Algorithm{Ring, Direct, HalvingDoubling}},
	{ReduceScatter, []Algorithm{Ring, Direct, HalvingDoubling}},
	{AllToAll, []Algorithm{Direct}},
	{AllToAllV, []Algorithm{Direct}},
	{Broadcast, []Algorithm{Ring, Direct, DoubleBinaryTree}},
	{Barrier, []Algorithm{Direct, HalvingDoubling}},
}

// Kinds returns all kinds.
func Kinds() (list []Kind) {
	for _, s := range supported {
		list = append(list, s.kind)
	}
	return list
}

// Algorithms returns the algorithms of a kind, the default first.
func Algorithms(k Kind) []Algorithm {
	for _, s := range supported {
		if s.kind == k {
			return slices.Clone(s.algorithms)
		}
	}
	return nil
}

// Limits of a collective.
const (
	MaxRanks    = 1 << 12
	MaxChannels = 32
	MaxChunks   = 1 << 10
	MaxMessages = 1 << 22 // of all ranks together
)

// Spec describes a collective.
type Spec struct {
	Kind      Kind
	Algorithm Algorithm
	Ranks     int // 2 to MaxRanks; a power of two for HalvingDoubling
	// Size is the data of one rank in bytes, all segments together: what nccl-tests calls size. Rank i
	// begins an all-gather with segment i, and ends a reduce-scatter with it. It is 0 for a Barrier and
	// for an AllToAllV.
	Size unit.Bytes
	// Channels are shares of the data, 1 to MaxChannels. The rings of odd channels run backwards, unless there are rails.
	Channels int
	Chunks   int   // parts of a segment that are sent one after the other, 1 to MaxChunks
	Sizes    Sizes // of an AllToAllV; nil for others
	// Rails is the number of ranks of each server, which are consecutive and have a NIC on a rail each; 0 or 1 if that
	// is unknown or of no use. The ring of channel c enters and leaves servers on rails from c on. Above 1 it is for Ring.
	Rails int
}

// Fault is a value of a Spec that is not allowed.
type Fault struct {
	Field string // its name in lower case: "ranks"
	Text  string // what is wrong, and what is allowed
}

// Error returns the field and what is wrong.
func (f *Fault) Error() string { return f.Field + ": " + f.Text }

// Validate returns the first Fault of a collective, nil if there is none.
func (c *Spec) Validate() *Fault {
	fault := func(field, format string, args ...any) *Fault { return &Fault{field, fmt.Sprintf(format, args...)} }
	switch known := Algorithms(c.Kind); {
	case known == nil:
		return fault("kind", "%q is unknown, want one of %v", c.Kind, Kinds())
	case !slices.Contains(known, c.Algorithm):
		return fault("algorithm", "%q is not for %s, want one of %v", c.Algorithm, c.Kind, known)
	case c.Ranks < 2 || c.Ranks > MaxRanks:
		return fault("ranks", "%d ranks, want 2 to %d", c.Ranks, MaxRanks)
	case c.Algorithm == HalvingDoubling && bits.OnesCount(uint(c.Ranks)) != 1:
		return fault("ranks", "%d ranks, want a power of two for %s", c.Ranks, HalvingDoubling)
	case c.Channels < 1 || c.Channels > MaxChannels:
		return fault("channels", "%d, want 1 to %d", c.Channels, MaxChannels)
	case c.Chunks < 1 || c.Chunks > MaxChunks:
		return fault("chunks", "%d, want 1 to %d", c.Chunks, MaxChunks)
	case c.Rails > 1 && c.Algorithm != Ring:
		return fault("rails", "%d, want 1 for %s", c.Rails, c.Algorithm)
	case c.Rails < 0 || c.Rails > 1 && (c.Ranks%c.Rails != 0 || c.Ranks == c.Rails):
		return fault("rails", "%d, want 1, or the number of ranks of each of several servers, which divides %d", c.Rails, c.Ranks)
	case c.Messages() > MaxMessages:
		return fault("ranks", "%d messages, want at most %d: fewer ranks, channels or chunks", c.Messages(), MaxMessages)
	case c.Kind == AllToAllV && c.Size != 0:
		return fault("size", "%s, want none for an all-to-allv, which has sizes", c.Size)
	case c.Kind == AllToAllV:
		return c.Sizes.validate(c.Ranks, c.Channels*c.Chunks)
	case c.Sizes != nil:
		return fault("sizes", "only an all-to-allv has sizes, want none for %s", c.Kind)
	case c.Kind == Barrier:
		return c.validateBarrier()
	case int64(c.Size) < int64(c.pieces()) || c.Size > MaxSize:
		return fault("size", "%s, want %s to %s: at least a byte in each of %d pieces", c.Size, unit.Bytes(c.pieces()), MaxSize, c.pieces())
	case c.largest() > program.MaxMessage:
		return fault("size", "messages of %s, want at most %s: more channels or chunks", c.largest(), program.MaxMessage)
	}
	return nil
}

// validateBarrier checks that a barrier has no data.
func (c *Spec) validateBarrier() *Fault {
	switch {
	case c.Size != 0:
		return &Fault{"size", fmt.Sprintf("%s, want none for a barrier", c.Size)}
	case c.Channels != 1:
		return &Fault{"channels", fmt.Sprintf("%d, want 1 for a barrier", c.Channels)}
	case c.Chunks != 1:
		return &Fault{"chunks", fmt.Sprintf("%d, want 1 for a barrier", c.Chunks)}
	}
	return nil
}

// MaxSize is the largest Size. Products with the number of a piece are below 2^63.
const MaxSize unit.Bytes = 1 << 40

// segments returns the number of parts that ranks or trees own.
func (c *Spec) segments() int {
	switch {
	case c.Algorithm == DoubleBinaryTree:
		return halves
	case c.Kind == Broadcast || c.Kind == Barrier:
		return 1
	default:
		return c.Ranks
	}
}

// LeastChunks returns the least number of chunks with which no message is too long, in a collective whose other fields are
// valid and which has no Sizes. It is above MaxChunks if there is none.
func (c *Spec) LeastChunks() int {
	one := *c
	one.Chunks = 1
	for one.Kind != Barrier && one.largest() > program.MaxMessage {
		one.Chunks = max(one.Chunks+1, one.Chunks*int(one.largest()/program.MaxMessage))
	}
	return one.Chunks
}

// largest bounds the bytes of a message.
func (c *Spec) largest() unit.Bytes {
	most := int64(1) // segments of a message
	if c.Algorithm == HalvingDoubling {
		most = int64(max(1, c.segments()/2))
	}
	piece := (int64(c.Size) + int64(c.pieces()) - 1) / int64(c.pieces())
	return unit.Bytes(most * piece)
}

// Messages returns the number of messages of all ranks.
func (c *Spec) Messages() int {
	n := c.Ranks
	each := n - 1 // messages of a rank for a piece, in one half of an all-reduce
	switch {
	case c.Algorithm == HalvingDoubling:
		each = bits.Len(uint(n)) - 1
	case c.Algorithm == DoubleBinaryTree && c.Kind == AllReduce:
		return 2 * halves * (n - 1) * c.Channels * c.Chunks
	case c.Algorithm == DoubleBinaryTree:
		return halves * (n - 1) * c.Channels * c.Chunks
	}
	switch c.Kind {
	case AllReduce:
		each *= 2
	case Broadcast:
		return (n - 1) * c.Channels * c.Chunks
	case AllToAllV:
		return c.Sizes.messages(c.Channels * c.Chunks)
	case AllGather, ReduceScatter, AllToAll, Barrier:
	}
	return n * each * c.Channels * c.Chunks
}

// Data returns the bytes that the algorithm bandwidth counts: Size, or for an AllToAllV the most data that
// a rank has for all ranks, or that all ranks have for one, its own included, which is the Size of an
// all-to-all if all sizes are equal.
func (c *Spec) Data() unit.Bytes {
	if c.Kind == AllToAllV {
		return c.Sizes.busiest(true)
	}
	return c.Size
}

// BusShare returns the factor by which nccl-tests multiplies the algorithm bandwidth, Data divided by
// time, to get the bus bandwidth, which does not depend on the number of ranks (doc/PERFORMANCE.md of
// nccl-tests; alltoall.cu for the all-to-all). For an AllToAllV it makes of it the rate of the rank that
// sends or receives the most. It is 0 for a Barrier.
func (c *Spec) BusShare() float64 {
	n := float64(c.Ranks)
	switch c.Kind {
	case AllReduce:
		return 2 * (n - 1) / n
	case AllGather, ReduceScatter, AllToAll:
		return (n - 1) / n
	case AllToAllV:
		return float64(c.Sizes.busiest(false)) / float64(c.Sizes.busiest(true))
	case Broadcast:
		return 1
	case Barrier:
	}
	return 0
}

package unit

// Bytes is a size in octets.
type Bytes int64

// Sizes. As in the congestion-control papers, a KB is 1000 bytes (64 KB take
// 12.8 us at 40 Gbit/s, PCN §3.1); a KiB is 1024.
const (
	Byte     Bytes = 1
	Kilobyte       = 1000 * Byte
	Megabyte       = 1000 * Kilobyte
	Kibibyte       = 1024 * Byte
	Mebibyte       = 1024 * Kibibyte
)

// String uses the units of sizeUnits only. The parser accepts the binary units
// too.
var (
	sizeUnits   = []scale{{"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}
	binaryUnits = []scale{{"kB", 1e3}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}
	allUnits    = append(append([]scale{}, sizeUnits...), binaryUnits...)
)

// ParseBytes parses a size such as "64KB" (64000), "12MiB" or "1000B".
func ParseBytes(s string) (Bytes, error) { return parse[Bytes]("size", s, allUnits) }

// String formats the size in the largest decimal unit that keeps it exact.
func (b Bytes) String() string { return formatScaled(int64(b), sizeUnits) }

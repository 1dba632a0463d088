package frame

// NextPSN returns the packet sequence number n packets after p, modulo 2^24.
func NextPSN(p, n uint32) uint32 { return (p + n) & mask24 }

// PSNDiff returns how far a is ahead of b, in serial arithmetic modulo 2^24:
// from -2^23 to 2^23-1 (IBTA volume 1 chapter 9).
func PSNDiff(a, b uint32) int32 { return int32((a-b)<<8) >> 8 }

//go:build !linux

package cores

// HugePages does nothing: this system has no advice on huge pages.
func HugePages(int) {}

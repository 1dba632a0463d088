package unit

import "fmt"

// Counted formats a count with its noun, which has an s unless the count is 1: "1 link",
// "2 links".
func Counted[N ~int | ~int32 | ~int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

package imports

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// Marks of the byte order (Unicode, U+FEFF), with which programs on Windows begin text.
var (
	markUTF8  = []byte{0xef, 0xbb, 0xbf}
	markUTF16 = map[[2]byte]binary.ByteOrder{{0xff, 0xfe}: binary.LittleEndian, {0xfe, 0xff}: binary.BigEndian}
)

// Text returns the bytes of a file as importers read them: text that begins with a byte-order mark without it, in
// UTF-8 if it was in UTF-16. Other bytes stay as they are.
func Text(data []byte) []byte {
	if text, ok := bytes.CutPrefix(data, markUTF8); ok {
		return text
	}
	if len(data) < 2 || len(data)%2 != 0 {
		return data
	}
	order, ok := markUTF16[[2]byte(data)]
	if !ok {
		return data
	}
	units := make([]uint16, 0, len(data)/2-1)
	for b := data[2:]; len(b) > 0; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return []byte(string(utf16.Decode(units)))
}

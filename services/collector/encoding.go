package collector

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// encoding is an encoding of the messages of OTLP over HTTP.
type encoding struct {
	name  string // Content-Type
	check func([]byte, proto.Message) error
	read  func([]byte, proto.Message) error
	write func(proto.Message) ([]byte, error)
}

var (
	inProtobuf = &encoding{"application/x-protobuf", checkItems, proto.Unmarshal, proto.Marshal}
	inJSON     = &encoding{"application/json", checkText, readJSON, protojson.Marshal}
)

// encodingOf returns the encoding of a request, nil if it is none of OTLP.
func encodingOf(r *http.Request) *encoding {
	name, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return nil
	case name == inProtobuf.name:
		return inProtobuf
	case name == inJSON.name:
		return inJSON
	}
	return nil
}

// readBody returns the decompressed body of a request, of at most MaxMessage bytes, for
// which it reserves memory. If it cannot, it returns the HTTP status that says so.
func readBody(w http.ResponseWriter, r *http.Request, m *memory) (body []byte, code int, err error) {
	var from io.Reader = http.MaxBytesReader(w, r.Body, MaxMessage)
	switch c := r.Header.Get("Content-Encoding"); c {
	case "", "identity":
	case "gzip":
		if from, err = gzip.NewReader(from); err != nil {
			return nil, http.StatusBadRequest, fmt.Errorf("gzip: %w", err)
		}
	default:
		w.Header().Set("Accept-Encoding", "gzip")
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("Content-Encoding %q: want gzip or none", c)
	}
	body, err = readAll(from, MaxMessage, m)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large) || errors.Is(err, errTooLarge):
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the request has more than %d bytes", MaxMessage)
	case errors.Is(err, errBusy):
		return nil, http.StatusTooManyRequests, err
	case err != nil:
		return nil, http.StatusBadRequest, fmt.Errorf("read the request: %w", err)
	}
	return body, http.StatusOK, nil
}

var errTooLarge = errors.New("too large")

// readBlock is the size of the blocks of readAll, in bytes.
const readBlock = 16 << 10

// readAll reads at most limit bytes. It reads blocks and joins them at the end, so that
// it allocates at most twice the bytes of its input; a buffer that grows takes five times
// as many. It reserves memory for each block.
func readAll(from io.Reader, limit int, m *memory) ([]byte, error) {
	var blocks [][]byte
	var block []byte
	for size := 0; ; {
		if len(block) == cap(block) {
			if err := m.reserve(readBlock); err != nil {
				return nil, err
			}
			blocks, block = append(blocks, block), make([]byte, 0, readBlock)
		}
		n, err := from.Read(block[len(block):cap(block)])
		block, size = block[:len(block)+n], size+n
		switch {
		case size > limit:
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			return bytes.Join(append(blocks, block), nil), nil
		case err != nil:
			return nil, err
		}
	}
}

// readJSON reads the JSON of OTLP: that of protobuf, with the IDs of traces and spans in
// hexadecimal digits. It ignores unknown fields.
func readJSON(text []byte, m proto.Message) error {
	var tree any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return fmt.Errorf("invalid JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("invalid JSON: text after the message")
	}
	if err := convertIDs(tree); err != nil {
		return err
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, m)
}

// convertIDs replaces the hexadecimal digits of IDs by the base64 that protobuf expects.
// Attributes are lists of keys and values, so that no field with the name of an ID is one.
func convertIDs(tree any) error {
	switch x := tree.(type) {
	case []any:
		for _, one := range x {
			if err := convertIDs(one); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, value := range x {
			digits, isText := value.(string)
			switch {
			case isText && (name == "traceId" || name == "spanId" || name == "parentSpanId"):
				id, err := hex.DecodeString(digits)
				if err != nil {
					return fmt.Errorf("%s %q: want hexadecimal digits", name, digits)
				}
				x[name] = base64.StdEncoding.EncodeToString(id)
			case !isText:
				if err := convertIDs(value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed assets
var files embed.FS

// asset is a file of the page, plain and compressed.
type asset struct {
	plain, packed []byte
	kind, tag     string
}

// assets returns the handler of the page's files. The first call compresses them.
var assets = sync.OnceValue(packed)

func packed() http.Handler {
	all := map[string]*asset{}
	names, _ := fs.Glob(files, "assets/*") // the pattern is valid
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			panic(err) // the files are part of the binary
		}
		sum := sha256.Sum256(data)
		all[strings.TrimPrefix(name, "assets")] = &asset{data, pack(data), kindOf(name), `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	all["/"] = all["/index.html"]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := all[r.URL.Path]
		if a == nil {
			sendError(w, http.StatusNotFound, "no file "+r.URL.Path)
			return
		}
		a.serve(w, r)
	})
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("ETag", a.tag)
	h.Set("Cache-Control", "no-cache") // revalidate each time, so that a new binary shows a new page
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Type", a.kind)
	body := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.packed
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body)) // answers If-None-Match
}

// kindOf returns the media type of a file. It does not use the system's type for .js,
// which varies.
func kindOf(name string) string {
	if path.Ext(name) == ".js" {
		return "text/javascript; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func pack(data []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(data)                                  // memory takes everything
	_ = z.Close()
	return b.Bytes()
}

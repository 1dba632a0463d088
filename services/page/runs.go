package page

import (
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/internal/cabling"
)

// maxRuns is the maximum number of folders listed: the latest by name.
const maxRuns = 200

// runFiles are the files of a run's folder that the page reads.
var runFiles = []string{"results.json", "series.json"}

// folder is the folder of a finished run.
type folder struct {
	Name string `json:"name"`
}

// listRuns lists the folders of finished runs, the latest first.
func (p *Page) listRuns(w http.ResponseWriter, _ *http.Request) {
	list := []folder{}
	if p.runs != nil {
		entries, err := fs.ReadDir(p.runs.FS(), ".")
		if err != nil {
			refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
		for _, e := range slices.Backward(entries) {
			if _, err := p.runs.Stat(e.Name() + "/results.json"); e.IsDir() && err == nil && len(list) < maxRuns {
				list = append(list, folder{e.Name()})
			}
		}
	}
	send(w, http.StatusOK, list)
}

// runFile sends a file of a run's folder, or its topology.
func (p *Page) runFile(w http.ResponseWriter, r *http.Request) {
	run, file := r.PathValue("run"), r.PathValue("file")
	if p.runs == nil || strings.ContainsAny(run, `/\`) || !slices.Contains(runFiles, file) && file != "topology" {
		refuse(w, http.StatusNotFound, "a run has results.json, series.json and topology")
		return
	}
	if file == "topology" {
		data, err := p.runs.ReadFile(run + "/scenario.yaml")
		if err != nil {
			refuse(w, http.StatusNotFound, err.Error())
			return
		}
		describe(w, data)
		return
	}
	in, err := p.runs.Open(run + "/" + file)
	if err != nil {
		refuse(w, http.StatusNotFound, err.Error())
		return
	}
	defer in.Close()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.Copy(w, in) // the client may have disconnected
}

// builtin sends the topology of a built-in scenario.
func builtin(w http.ResponseWriter, r *http.Request) {
	data, ok := topology.Builtin(r.PathValue("name"))
	if !ok {
		refuse(w, http.StatusNotFound, "no scenario of rackfab is called "+r.PathValue("name"))
		return
	}
	describe(w, data)
}

// describe sends the topology of a scenario.
func describe(w http.ResponseWriter, data []byte) {
	s, err := topology.Parse("scenario", data)
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	out, err := protojson.Marshal(cabling.Describe(s, 0))
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(out) // the client may have disconnected
}

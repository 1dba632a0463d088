package page

import (
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/services/internal/cabling"
)

// maxRuns is the maximum number of folders listed: the latest by name.
const maxRuns = 200

// listRuns lists the folders of finished runs, the latest first.
func (p *Page) listRuns(w http.ResponseWriter, _ *http.Request) {
	list := []map[string]string{}
	if p.runs != nil {
		entries, err := fs.ReadDir(p.runs.FS(), ".")
		if err != nil {
			sendError(w, http.StatusInternalServerError, err.Error())
			return
		}
		for _, e := range slices.Backward(entries) {
			if _, err := p.runs.Stat(e.Name() + "/results.json"); e.IsDir() && err == nil && len(list) < maxRuns {
				list = append(list, map[string]string{"name": e.Name()})
			}
		}
	}
	send(w, http.StatusOK, list)
}

// runFile sends a file of a run's folder, or its topology.
func (p *Page) runFile(w http.ResponseWriter, r *http.Request) {
	run, file := r.PathValue("run"), r.PathValue("file")
	if p.runs == nil || strings.ContainsAny(run, `/\`) || !slices.Contains([]string{"results.json", "series.json", "topology"}, file) {
		sendError(w, http.StatusNotFound, "a run has results.json, series.json and topology")
		return
	}
	name := strings.Replace(file, "topology", "scenario.yaml", 1)
	data, err := p.runs.ReadFile(run + "/" + name)
	switch {
	case err != nil:
		sendError(w, http.StatusNotFound, err.Error())
	case file == "topology":
		sendTopology(w, data)
	default:
		send(w, http.StatusOK, data)
	}
}

// builtin sends the topology of a built-in scenario.
func builtin(w http.ResponseWriter, r *http.Request) {
	data, ok := scenariofile.Builtin(r.PathValue("name"))
	if !ok {
		sendError(w, http.StatusNotFound, "no built-in scenario "+r.PathValue("name"))
		return
	}
	sendTopology(w, data)
}

// sendTopology sends the topology of a scenario.
func sendTopology(w http.ResponseWriter, data []byte) {
	s, err := scenariofile.Parse("scenario", data)
	if err != nil {
		sendError(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	out, err := protojson.Marshal(cabling.Describe(s, 0))
	if err != nil {
		sendError(w, http.StatusInternalServerError, err.Error())
		return
	}
	send(w, http.StatusOK, out)
}

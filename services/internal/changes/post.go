package changes

import (
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// postVerbs maps the RDMA verbs to their names in a scenario.
var postVerbs = map[rackfabv1.PostVerb]string{
	rackfabv1.PostVerb_POST_VERB_WRITE: "put",
	rackfabv1.PostVerb_POST_VERB_READ:  "get",
	rackfabv1.PostVerb_POST_VERB_SEND:  "send",
}

func readPost(p *rackfabv1.Post, out *topology.PostSpec) error {
	verb, ok := postVerbs[p.GetVerb()]
	if !ok {
		return serve.Invalid("change.post.verb", "%s, want POST_VERB_WRITE, POST_VERB_READ or POST_VERB_SEND", p.GetVerb())
	}
	out.Name, out.Verb, out.Count, out.Every = p.GetName(), verb, int(p.GetCount()), unit.Time(p.GetEveryPs())
	if err := names("change.post.from", p.GetFrom(), &out.From); err != nil {
		return err
	}
	if err := names("change.post.to", p.GetTo(), &out.To); err != nil {
		return err
	}
	if out.Size = unit.Bytes(p.GetSizeBytes()); out.Size <= 0 {
		return serve.Invalid("change.post.size_bytes", "%d, want at least 1", p.GetSizeBytes())
	}
	if out.Every < 0 {
		return serve.Invalid("change.post.every_ps", "%d, want at least 0", p.GetEveryPs())
	}
	if out.Count < 0 {
		return serve.Invalid("change.post.count", "%d, want at least 1", out.Count)
	}
	out.Count = max(out.Count, 1)
	return nil
}

func writePost(p *topology.PostSpec) *rackfabv1.Post {
	out := &rackfabv1.Post{
		Name: p.Name, From: strings.Join(p.From, ","), To: strings.Join(p.To, ","),
		SizeBytes: int64(p.Size), Count: int32(p.Count), EveryPs: int64(p.Every),
	}
	for verb, word := range postVerbs {
		if word == p.Verb {
			out.Verb = verb
		}
	}
	return out
}

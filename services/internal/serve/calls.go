package serve

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// call is a method, "/rackfab.v1.NodeService/Run", and how it ended.
type call struct {
	method string
	code   codes.Code
}

// calls counts the calls that a server has answered.
type calls struct {
	mu     sync.Mutex
	counts map[call]int64
}

func (c *calls) count(method string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[call]int64{}
	}
	c.counts[call{method, status.Code(err)}]++
}

func (c *calls) unary(ctx context.Context, q any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	answer, err := handle(ctx, q)
	c.count(info.FullMethod, err)
	return answer, err
}

func (c *calls) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	err := handle(server, stream)
	c.count(info.FullMethod, err)
	return err
}

// Calls passes to tell, for each method and status code, the number of calls that
// ended with it. It may be called at any time.
func (s *Server) Calls(tell func(method, code string, count int64)) {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	for c, n := range s.calls.counts {
		tell(c.method, c.code.String(), n)
	}
}

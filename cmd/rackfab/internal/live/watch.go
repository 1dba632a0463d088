package live

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/report/table"
)

func watchCommand() *cobra.Command {
	return client.RackCommand(&cobra.Command{
		Use: "watch", Short: "Show the running rack live: loads, queues, pauses, rates, event counters", Args: cobra.NoArgs, Example: "rackfab watch",
	}, func(c *cobra.Command, api rackfabv1.FabricServiceClient, _ []string) error {
		ctx, cancel := context.WithCancel(c.Context())
		defer cancel()
		q, terminal := &rackfabv1.WatchRequest{}, table.IsTerminal(c.OutOrStdout())
		if !terminal {
			q.EveryMs = int32(cli.LineEvery.Milliseconds())
		}
		events, err := api.Watch(ctx, q)
		if err != nil {
			return err
		}
		if !terminal {
			return watchLines(c, events)
		}
		p := tea.NewProgram(&screen{api: api, height: watchRows}, tea.WithContext(ctx), tea.WithoutSignalHandler()) // a signal ends ctx
		ended := make(chan error, 1)
		go func() {
			for {
				event, err := events.Recv()
				if err != nil {
					ended <- err
					p.Quit()
					return
				}
				p.Send(event)
			}
		}()
		model, err := p.Run()
		s, ok := model.(*screen)
		switch {
		case ok && s.quit:
			return nil
		case err != nil || !ok:
			return err
		}
		return endOfEvents(c, s.is.GetStatus(), <-ended)
	})
}

// watchLines prints one status line per event, for output that is not a terminal.
func watchLines(c *cobra.Command, events rackfabv1.FabricService_WatchClient) error {
	var last *rackfabv1.RackStatus
	for {
		event, err := events.Recv()
		if err != nil {
			return endOfEvents(c, last, err)
		}
		last = event.GetStatus()
		text := statusText(last)
		if last.GetState() == rackfabv1.RackState_RACK_STATE_RUNNING {
			text += stalledText(last)
		}
		if _, err := fmt.Fprintln(cli.Endless(c), text); err != nil {
			return err
		}
	}
}

// endOfEvents returns why the events of a rack ended. last is the last known status, or nil if
// there was none. The end of the live run is not an error.
func endOfEvents(c *cobra.Command, last *rackfabv1.RackStatus, err error) error {
	switch {
	case last == nil:
	case status.Code(err) == codes.FailedPrecondition:
		_, err = fmt.Fprintf(c.OutOrStdout(), "the live run of %s ended after %s\n", last.GetScenario(), unit.Time(last.GetAtPs()))
	case client.ConnectionLost(err) != "":
		_, _ = fmt.Fprintf(c.OutOrStdout(), "last event of %s at %s\n", last.GetScenario(), unit.Time(last.GetAtPs())) // the error says more
	}
	return err
}

// screen is the view of a rack in a terminal.
type screen struct {
	api     rackfabv1.FabricServiceClient
	was, is *rackfabv1.WatchResponse
	height  int
	width   int    // 0 if unknown
	failure string // of the last call
	quit    bool   // the user has quit
}

// callFailed is the error of a call that a key press triggered.
type callFailed struct{ error }

// Init returns no command: events arrive from the stream.
func (s *screen) Init() tea.Cmd { return nil }

// Update handles an event of the rack, a key press, or a new terminal size.
func (s *screen) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	switch m := m.(type) {
	case *rackfabv1.WatchResponse:
		s.take(m)
	case tea.WindowSizeMsg:
		s.height, s.width = m.Height, m.Width
	case callFailed:
		s.failure = m.Error()
	case tea.KeyPressMsg:
		switch m.String() {
		case "q", "esc", "ctrl+c":
			s.quit = true
			return s, tea.Quit
		case "space", "p":
			return s, s.toggle()
		}
	}
	return s, nil
}

// take stores the event, and the previous event if that has an earlier instant.
func (s *screen) take(m *rackfabv1.WatchResponse) {
	if s.is != nil && s.is.GetStatus().GetAtPs() < m.GetStatus().GetAtPs() {
		s.was = s.is
	}
	s.is = m
}

// toggle pauses a running clock, or resumes a paused one.
func (s *screen) toggle() tea.Cmd {
	running := s.is.GetStatus().GetState() == rackfabv1.RackState_RACK_STATE_RUNNING
	return func() tea.Msg {
		var err error
		if running {
			_, err = s.api.Pause(context.Background(), &rackfabv1.PauseRequest{})
		} else {
			_, err = s.api.Resume(context.Background(), &rackfabv1.ResumeRequest{})
		}
		if err != nil {
			return callFailed{client.Reword(err)}
		}
		return nil
	}
}

// View renders the rack.
func (s *screen) View() tea.View {
	v := tea.NewView("waiting for the rack")
	if s.is != nil {
		v.SetContent(s.fitted() + "\nq quits, space pauses and resumes  " + s.failure)
	}
	v.AltScreen = true
	return v
}

// minRows is the minimum number of rows requested from view, however small the
// terminal.
const minRows = 8

// fitted returns the view with long lines wrapped, and with so few links and flows that
// one row remains below it.
func (s *screen) fitted() string {
	for rows := s.height - 2; ; rows-- {
		lines := strings.Split(strings.TrimRight(view(s.was, s.is, rows), "\n"), "\n")
		for i, line := range lines {
			if s.width > 0 {
				lines[i] = table.Wrap(line, s.width)
			}
		}
		if all := strings.Join(lines, "\n"); rows <= minRows || strings.Count(all, "\n")+2 <= s.height {
			return all
		}
	}
}

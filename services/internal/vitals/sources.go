package vitals

// CallsOf tells what a gRPC server has answered; calls is serve.Server.Calls.
func CallsOf(calls func(tell func(method, code string, count int64))) Source {
	return func(put func(id ID, value float64, labels ...string)) {
		calls(func(method, code string, count int64) { put(Calls, float64(count), method, code) })
	}
}

// ReconnectsOf tells how often a connection to the bus was taken up again, if it
// counts that.
func ReconnectsOf(conn any) Source {
	return func(put func(id ID, value float64, labels ...string)) {
		if c, ok := conn.(interface{ Reconnects() int64 }); ok {
			put(BusReconnects, float64(c.Reconnects()))
		}
	}
}

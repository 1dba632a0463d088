package vitals

// CallsOf returns a source of the counts of a gRPC server's calls; calls is
// serve.Server.Calls.
func CallsOf(calls func(tell func(method, code string, count int64))) Source {
	return func(put func(id ID, value float64, labels ...string)) {
		calls(func(method, code string, count int64) { put(Calls, float64(count), method, code) })
	}
}

// ReconnectsOf returns a source of the number of reconnects of a connection to the
// bus, if the connection counts them.
func ReconnectsOf(conn any) Source {
	return func(put func(id ID, value float64, labels ...string)) {
		if c, ok := conn.(interface{ Reconnects() int64 }); ok {
			put(BusReconnects, float64(c.Reconnects()))
		}
	}
}

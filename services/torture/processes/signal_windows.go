package processes

import "os"

// supported reports whether the system can stop a process.
const supported = false

// The signals that stop and continue a process: Windows has none.
var stop, cont os.Signal

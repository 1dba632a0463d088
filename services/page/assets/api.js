// The bridge: calls, files and the stream of events.

let session = { token: "", controller: false, collector: false, runs: false };

// reasonOf shortens the reason that gRPC gives for a call that reached nobody.
export function reasonOf(text, peer = "the server") {
  const refused = /dial tcp (\S+?): .*refused/.exec(text);
  if (refused) return `nothing listens at ${refused[1]}`;
  return /\bEOF\b|connection reset|transport is closing|closing transport/.test(text) ? `the connection to ${peer} ended (${text})` : text;
}

async function answer(response) {
  if (response.ok) return response.json();
  const body = await response.json().catch(() => ({ message: response.statusText }));
  const fields = Object.entries(body.fields ?? {}).map(([field, what]) => `${field}: ${what}`);
  const error = new Error(fields.length ? fields.join("; ") : reasonOf(body.message));
  error.code = body.code;
  error.fields = body.fields ?? {};
  throw error;
}

export const get = async (path) => answer(await fetch(path));

// open returns the session: the token, and which services this page has.
export async function open() {
  session = await get("/api/session");
  return session;
}

// call makes a gRPC call by its name. 64-bit numbers in the response are strings.
export const call = async (method, message = {}) =>
  answer(await fetch(`/api/call/${method}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Rackfab-Token": session.token },
    body: JSON.stringify(message),
  }));

// listen subscribes to the events of the live rack. The browser reconnects by itself.
export function listen({ rack, frame, missed, lost }) {
  const stream = new EventSource("/api/live");
  stream.addEventListener("rack", (e) => rack(JSON.parse(e.data)));
  stream.addEventListener("frame", (e) => frame(JSON.parse(e.data)));
  stream.addEventListener("missed", (e) => missed(Number(e.data)));
  stream.addEventListener("error", () => lost());
  return stream;
}

"""Chromium against the gateway, with a ticket: see scripts/try-clients.

Serves one page, starts the browser headless, and waits for what the page reports.
"""

import http.server
import json
import subprocess
import sys
import tempfile
import threading

PORT, TICKET, PAGE_PORT, PROGRAM = sys.argv[1:5]
LIMIT = 90  # seconds

PAGE = """<!DOCTYPE html><title>try</title><script>
const report = (result) => fetch("/result", { method: "POST", body: JSON.stringify(result) });
let checks = 0;
const check = (holds, what) => { if (!holds) throw new Error(what); checks += 1; };
const opened = (socket) => new Promise((resolve, reject) => {
  socket.binaryType = "arraybuffer";
  socket.onopen = resolve;
  socket.onclose = (event) => reject(new Error("closed with " + event.code));
});
async function play() {
  // Where client certificates are asked for, a WebSocket of Chromium's fails until a request has settled that there is none.
  await fetch("https://localhost:%(port)s/health", { mode: "no-cors" });
  const socket = new WebSocket("wss://localhost:%(port)s/?ticket=%(ticket)s&x=[1]|{2}^`&cols=100", ["telnet"]);
  await opened(socket);
  let received = new Uint8Array(0);
  let look = () => {};
  socket.onmessage = (event) => {
    const more = new Uint8Array(event.data);
    const all = new Uint8Array(received.length + more.length);
    all.set(received);
    all.set(more, received.length);
    received = all;
    look();
  };
  const echo = (...messages) => {
    const encoder = new TextEncoder();
    const pieces = messages.map((each) => (typeof each === "string" ? encoder.encode(each) : each));
    const expected = new Uint8Array(pieces.reduce((sum, each) => sum + each.length, 0));
    pieces.reduce((at, each) => (expected.set(each, at), at + each.length), 0);
    return new Promise((resolve) => {
      look = () => {
        if (received.length < expected.length) return;
        const isEqual = received.length === expected.length && received.every((byte, index) => byte === expected[index]);
        received = new Uint8Array(0);
        resolve(isEqual);
      };
      for (const message of messages) socket.send(message);
    });
  };
  check(socket.protocol === "telnet", "the subprotocol");
  check(await echo("look"), "a text message");
  check(await echo("Grüße, 世界 🏰\\r\\n"), "UTF-8");
  check(await echo(crypto.getRandomValues(new Uint8Array(65536))), "a message as large as allowed");
  check(await echo("look around ".repeat(5000)), "a long message that compresses well");
  check(await echo(...Array.from({ length: 300 }, (_, number) => `line ${number}\\r\\n`)), "300 messages");
  const closed = new Promise((resolve) => { socket.onclose = resolve; });
  socket.close(1000, "done");
  check((await closed).code === 1000 && (await closed).wasClean, "the close code");
  const again = new WebSocket("wss://localhost:%(port)s/?ticket=%(ticket)s", ["telnet"]);
  check(await opened(again).then(() => false, () => true), "a used ticket is refused");
  return { version: navigator.userAgent.match(/Chrome\\/([0-9.]+)/)[1], extensions: socket.extensions || "-", checks };
}
play().then(report, (error) => report({ error: error.message }));
</script>"""

result = None
done = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        page = PAGE.replace("%(port)s", PORT).replace("%(ticket)s", TICKET).encode()
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page if self.path == "/" else b"")

    def do_POST(self):
        global result
        result = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        done.set()

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(PAGE_PORT)), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as profile:
    browser = subprocess.Popen(
        [
            PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            # A page of one local address may reach another without a question that nobody would answer.
            "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets",
            "--ignore-certificate-errors", f"--user-data-dir={profile}/profile", f"http://127.0.0.1:{PAGE_PORT}/",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    done.wait(LIMIT)
    browser.terminate()
    try:
        browser.wait(10)
    except subprocess.TimeoutExpired:
        browser.kill()
        browser.wait()
if result is None:
    sys.exit("chromium: the page has reported nothing")
if "error" in result:
    sys.exit(f"chromium: {result['error']}")
print(f"{result['version']}\t{result['extensions']}\t{result['checks']}")

"""The gateway's own web client in Chromium, while a MUD floods it: see scripts/try-clients.

Is itself the MUD of the route `flood`. Opens the page with a ticket, has 10 MB of coloured lines sent, presses a key now and then, and asks the
browser how long its tasks took and how long keys waited until they were drawn.
"""

import asyncio
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import websockets

PORT, TICKET, FLOOD_PORT, PROGRAM = sys.argv[1:5]
BYTES = 10_000_000
LIMIT = 90  # seconds
# The goals: seconds until the last line is drawn, milliseconds of a task, and from a key to its drawing.
GOALS = {"seconds": 15, "task": 150, "key": 100}
END = "the end of the flood"

WATCH = """
window.watched = { tasks: [0], keys: [0] };
const watch = (type, note, options) => new PerformanceObserver(list => list.getEntries().forEach(note)).observe({ type, ...options });
watch("longtask", entry => watched.tasks.push(entry.duration));
watch("event", entry => { if (entry.name === "keydown") watched.keys.push(entry.duration); }, { durationThreshold: 16 });
"""


def flood():
    """Lines as MUDs write them: each with seven colours."""
    dice = random.Random(1)
    words = "the quick brown fox jumps over a lazy dog near an old stone gate while rain falls softly".split()
    size = 0
    while size < BYTES:
        line = f"\x1b[1;3{dice.randrange(8)}m[{size:08}]\x1b[0m"
        for _ in range(6):
            line += f" \x1b[{dice.choice(['31', '32', '33', '34', '1;35', f'38;5;{dice.randrange(256)}'])}m{dice.choice(words)}\x1b[0m"
        size += len(line) + 2
        yield line.encode() + b"\r\n"


async def serve_flood(reader, writer):
    writer.write(b"Say go.\r\n")
    while b"go" not in await reader.readline():
        pass
    for line in flood():
        writer.write(line)
        await writer.drain()
    writer.write(END.encode() + b"\r\n")
    await reader.read()


class Browser:
    """One page, by the Chrome DevTools Protocol."""

    async def start(self):
        self.profile = tempfile.mkdtemp()
        arguments = [
            PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-extensions", "--disable-background-networking", "--window-size=1280,800", "--ignore-certificate-errors",
            f"--user-data-dir={self.profile}/profile", "--remote-debugging-port=0", "about:blank",
        ]
        self.process = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "HOME": self.profile})
        port = None
        while port is None:
            line = self.process.stderr.readline().decode()
            if not line:
                sys.exit("chromium did not start")
            port = re.search(r"DevTools listening on ws://127.0.0.1:(\d+)/", line)
        os.set_blocking(self.process.stderr.fileno(), False)
        targets = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/json/list"))
        address = next(target for target in targets if target["type"] == "page")["webSocketDebuggerUrl"]
        self.socket = await websockets.connect(address, max_size=None, compression=None)
        self.calls, self.number, self.complaints = {}, 0, []
        self.reading = asyncio.create_task(self.read())
        for domain in ("Page", "Runtime", "Log"):
            await self.call(f"{domain}.enable")

    async def read(self):
        async for text in self.socket:
            message = json.loads(text)
            if "id" in message:
                self.calls.pop(message["id"]).set_result(message)
            elif message["method"] == "Runtime.exceptionThrown" or self.concerns_security(message):
                self.complaints.append(text)

    @staticmethod
    def concerns_security(message):
        """Such as what the page's Content-Security-Policy has blocked."""
        return message["method"] == "Log.entryAdded" and message["params"]["entry"]["source"] == "security"

    async def call(self, method, **parameters):
        self.number += 1
        answer = self.calls[self.number] = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        message = await answer
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return message["result"]

    async def value(self, expression):
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    async def until(self, condition):
        end = time.monotonic() + LIMIT
        while not await self.value(f"document.getElementById('log') !== null && ({condition})"):
            if time.monotonic() > end:
                raise RuntimeError(f"not in time: {condition}; {(await self.value('document.body.innerText'))[-500:]}")
            await asyncio.sleep(0.02)

    async def press(self, key, **more):
        await self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **more)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def renderer_megabytes(self):
        lines = subprocess.run(["ps", "-eo", "rss,args"], capture_output=True, text=True, check=True).stdout.splitlines()
        return max(int(line.split()[0]) for line in lines if "--type=renderer" in line and self.profile in line) // 1024

    async def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


async def type_keys(browser, over):
    """A key every 150 ms, as a person presses them."""
    typed = ""
    while not over.is_set():
        typed += chr(ord("a") + len(typed) % 26)
        await browser.press(typed[-1], text=typed[-1])
        await asyncio.sleep(0.15)
    return typed


async def play(browser):
    text = "document.getElementById('log').textContent"
    await browser.call("Page.navigate", url=f"https://localhost:{PORT}/#ticket={TICKET}&target=flood")
    await browser.until(f"{text}.includes('Say go.')")
    await browser.value(f"(() => {{ {WATCH} }})()")
    before = browser.renderer_megabytes()
    await browser.call("Input.insertText", text="go")
    start = time.monotonic()
    await browser.press("Enter", text="\r", windowsVirtualKeyCode=13)
    over = asyncio.Event()
    keys = asyncio.create_task(type_keys(browser, over))
    # Looking costs the page something too: it is asked seldom.
    while not await browser.value(f"document.querySelector('#text').lastChild?.textContent.includes('{END}') === true"):
        if time.monotonic() - start > LIMIT:
            raise RuntimeError("the flood has no end")
        await asyncio.sleep(0.1)
    seconds = time.monotonic() - start
    over.set()
    typed = await keys
    await asyncio.sleep(0.5)
    watched = await browser.value("watched")
    found = {"seconds": seconds, "task": max(watched["tasks"]), "key": max(watched["keys"])}
    checks = 0
    for name, goal in GOALS.items():
        if found[name] > goal:
            raise RuntimeError(f"{name}: {found[name]:.0f}, and the goal is {goal}")
        checks += 1
    last = await browser.value("[...document.querySelectorAll('#text .row')].at(-2).textContent")
    behind = "(log => log.scrollHeight - log.scrollTop - log.clientHeight)(document.getElementById('log'))"
    for holds, what in (
        (re.match(r"\[0999\d{4}\] ", last), f"the last line: {last}"),
        (await browser.value("document.getElementById('line').value") == typed, "the typed text"),
        (await browser.value(behind) < 2, "the log's end"),
        (await browser.value("document.querySelectorAll('#text .row').length") <= 5_000, "the number of rows"),
        (not browser.complaints, f"complaints: {browser.complaints}"),
    ):
        if not holds:
            raise RuntimeError(what)
        checks += 1
    figures = f"{BYTES / 1e6:.0f} MB in {seconds:.1f} s, task {found['task']:.0f} ms, key {found['key']:.0f} ms"
    print(f"{before} to {browser.renderer_megabytes()} MB", file=sys.stderr)
    version = re.search(r"Chrome/([0-9.]+)", await browser.value("navigator.userAgent"))[1]
    print(f"{version}\t{figures}\t{checks}")


async def main():
    server = await asyncio.start_server(serve_flood, "127.0.0.1", int(FLOOD_PORT))
    browser = Browser()
    async with server:
        try:
            await browser.start()
            await play(browser)
        except (RuntimeError, OSError) as error:
            sys.exit(f"page: {error}")
        finally:
            await browser.stop()


asyncio.run(main())

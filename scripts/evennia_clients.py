"""Scripted players for scripts/try-with-evennia, one for each dialect of the gateway.

Each creates an account and its character, logs in, and plays. What a dialect carries beside the text is checked as that dialect has it:
GMCP both ways and the window's size. What it calls text must be nothing but text: UTF-8, colours, and no byte of telnet.
"""

import argparse
import asyncio
import base64
import json
import re
import secrets
import ssl
import sys
import zlib

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

LIMIT = 60  # seconds that anything may take
SETTLE = 0.4  # Evennia takes a new size over only if it comes in a read of its own

COLOUR = re.compile(r"\x1b\[[0-9;]*m")

IAC, DONT, DO, WONT, WILL, SB, SE = 255, 254, 253, 252, 251, 250, 240
ECHO = 1
TTYPE, NAWS, MCCP2, GMCP = 24, 31, 86, 201


class Failure(Exception):
    pass


class Client:
    """What all dialects have in common: a transcript, a text to look into, and the GMCP messages that have come."""

    dialect = ""
    subprotocol = None
    query = "?cols=100&rows=40&client=try-with-evennia"
    has_gmcp = True
    can_resize = True

    def __init__(self, options):
        self.options = options
        self.text = ""  # all of it, ANSI sequences included
        self.seen = 0  # how much of it, without colours, was looked for already
        self.gmcp = []  # (name, data) not yet looked for
        self.changed = asyncio.Condition()
        self.end = None
        self.shown = ""
        self.checks = 0

    # -- The transcript

    def say(self, mark, text):
        for line in text.replace("\r", "").split("\n"):
            print(f"  {mark} {line}".rstrip(), flush=True)

    def plain(self):
        return COLOUR.sub("", self.text)

    def show(self, text):
        """Prints what the game says line by line, without its colours."""
        self.shown = COLOUR.sub("", self.shown + text)
        *lines, self.shown = self.shown.split("\n")
        for line in lines:
            self.say("<", line)

    def check(self, holds, what):
        if not holds:
            raise Failure(what)
        self.checks += 1
        self.say("✓", what)

    # -- The connection

    async def play_with(self, play):
        context = ssl.create_default_context(cafile=self.options.ca)
        context.load_cert_chain(self.options.certificate, self.options.key)
        protocols = [self.subprotocol] if self.subprotocol else None
        uri = f"wss://localhost:{self.options.port}/{self.query}"
        async with connect(uri, ssl=context, subprotocols=protocols, compression="deflate", max_size=None) as self.socket:
            self.check(self.socket.subprotocol == self.subprotocol, f"the subprotocol is {self.subprotocol}")
            reader = asyncio.create_task(self.read())
            try:
                await self.begin()
                await play(self)
            finally:
                reader.cancel()

    async def read(self):
        try:
            async for message in self.socket:
                async with self.changed:
                    try:
                        self.receive(message)
                    except Exception as error:
                        self.end = f"{type(error).__name__}: {error}"
                        self.say("!", f"{self.end} in {message!r}"[:500])
                    self.changed.notify_all()
            close = self.socket.close_code, self.socket.close_reason
        except ConnectionClosed as error:
            close = error.code, error.reason
        async with self.changed:
            self.end = self.end or close
            self.changed.notify_all()

    async def begin(self):
        """What the client says first."""

    def got_text(self, payload):
        text = payload.decode("utf-8")  # strict: a text dialect never sends anything else
        self.text += text
        self.show(text)

    def got_gmcp(self, name, data):
        self.say("⇐", f"{name} {'' if data is None else json.dumps(data)}"[:300])
        self.gmcp.append((name, data))

    # -- What the play asks for

    async def wait(self, what, found):
        async def until():
            async with self.changed:
                while True:
                    result = found()
                    if result is not None:
                        return result
                    if self.end is not None:
                        raise Failure(f"{what}: the connection ended first: {self.end}")
                    await self.changed.wait()

        try:
            return await asyncio.wait_for(until(), LIMIT)
        except asyncio.TimeoutError:
            raise Failure(f"waited in vain for {what}; the last text: {self.text[-300:]!r}") from None

    async def expect(self, pattern):
        def found():
            match = re.compile(pattern, re.S).search(self.plain(), self.seen)
            if match:
                self.seen = match.end()
            return match

        return await self.wait(f"text like {pattern!r}", found)

    async def expect_gmcp(self, name):
        def found():
            for index, message in enumerate(self.gmcp):
                if message[0] == name:
                    return self.gmcp.pop(index)
            return None

        return (await self.wait(f"the GMCP message {name}", found))[1]

    async def line(self, text, shown=None):
        self.say(">", shown or text)
        await self.send_line(text)

    async def tell(self, name, data):
        self.say("⇒", f"{name} {json.dumps(data)}")
        await self.send_gmcp(name, data)

    async def closed(self):
        await self.wait("the end", lambda: self.end)
        return self.end


class Raw(Client):
    """The client is the telnet end itself, with compression: only bytes that pass untouched can be inflated."""

    dialect = "raw"
    subprotocol = "telnet.mudstandards.org"
    query = ""
    wanted = (1, 3, GMCP, MCCP2)

    def __init__(self, options):
        super().__init__(options)
        self.pending = bytearray()
        self.inflater = None
        self.types = ["TRY-WITH-EVENNIA", "XTERM-256COLOR", "MTTS 13", "MTTS 13"]
        self.commands = []
        self.replies = asyncio.Queue()

    async def begin(self):
        self.replier = asyncio.create_task(self.reply())

    async def reply(self):
        while True:
            await self.socket.send(bytes(await self.replies.get()))

    def receive(self, message):
        self.pending += self.inflater.decompress(message) if self.inflater else message
        text = bytearray()
        at = 0
        while at < len(self.pending):
            used = self.step(at, text)
            if used == 0:
                break
            at += used
        del self.pending[:at]
        if text:
            self.got_text(bytes(text))

    def step(self, at, text):
        """Takes one byte of text or one command; returns how long it is, 0 while it is incomplete."""
        rest = self.pending[at:]
        if rest[0] != IAC:
            text.append(rest[0])
            return 1
        if len(rest) < 2:
            return 0
        if rest[1] in (WILL, WONT, DO, DONT):
            if len(rest) < 3:
                return 0
            self.negotiate(rest[1], rest[2])
            return 3
        if rest[1] != SB:
            text.extend([IAC] if rest[1] == IAC else [])
            return 2
        end = rest.find(bytes([IAC, SE]))
        if end < 0:
            return 0
        self.subnegotiation(rest[2], bytes(rest[3:end]).replace(b"\xff\xff", b"\xff"), at + end + 2)
        return end + 2

    def negotiate(self, verb, option):
        if verb == WILL:
            self.replies.put_nowait([IAC, DO if option in self.wanted else DONT, option])
        if verb == DO:
            self.replies.put_nowait([IAC, WILL if option in (TTYPE, NAWS) else WONT, option])
            if option == NAWS:
                self.replies.put_nowait([IAC, SB, NAWS, 0, 100, 0, 40, IAC, SE])

    def subnegotiation(self, option, data, end):
        if option == TTYPE:
            name = self.types.pop(0) if len(self.types) > 1 else self.types[0]
            self.replies.put_nowait([IAC, SB, TTYPE, 0, *name.encode(), IAC, SE])
        elif option == MCCP2 and self.inflater is None:
            self.inflater = zlib.decompressobj()
            compressed = bytes(self.pending[end:])
            del self.pending[end:]
            self.pending += self.inflater.decompress(compressed)
            self.say("·", "the stream is compressed from here on")
        elif option == GMCP:
            name, _, value = data.decode().partition(" ")
            self.got_gmcp(name, json.loads(value) if value else None)

    async def send_line(self, text):
        await self.socket.send(text.encode() + b"\r\n")

    async def send_gmcp(self, name, data):
        await self.socket.send(bytes([IAC, SB, GMCP]) + f"{name} {json.dumps(data)}".encode() + bytes([IAC, SE]))

    async def resize(self, columns, rows):
        await self.socket.send(bytes([IAC, SB, NAWS, 0, columns, 0, rows, IAC, SE]))


class Terminal(Client):
    """Text alone. The window's size comes with the upgrade."""

    dialect = "terminal"
    subprotocol = "terminal.mudstandards.org"
    has_gmcp = False
    can_resize = False

    def receive(self, message):
        if isinstance(message, str):
            raise Failure("a text message")
        self.got_text(message)

    async def send_line(self, text):
        await self.socket.send(text.encode() + b"\r\n")


class Gmcp(Terminal):
    """Text as binary messages, GMCP as text messages."""

    dialect = "gmcp"
    subprotocol = "gmcp.mudstandards.org"
    has_gmcp = True
    can_resize = True

    def receive(self, message):
        if not isinstance(message, str):
            return self.got_text(message)
        name, _, value = message.partition(" ")
        self.got_gmcp(name, json.loads(value) if value else None)

    async def send_gmcp(self, name, data):
        await self.socket.send(f"{name} {json.dumps(data)}")

    async def resize(self, columns, rows):
        await self.socket.send(f'Portcullis.Size {{"cols":{columns},"rows":{rows}}}')


class Json(Terminal):
    """Text as binary messages, all else as text messages {"proto","id","data"}."""

    dialect = "json"
    subprotocol = "json.mudstandards.org"
    has_gmcp = True
    can_resize = True

    def receive(self, message):
        if not isinstance(message, str):
            return self.got_text(message)
        fields = json.loads(message)
        if set(fields) != {"proto", "id", "data"} or not all(isinstance(value, str) for value in fields.values()):
            raise Failure(f"not the subprotocol's form: {message}")
        if fields["proto"] == "gmcp":
            self.got_gmcp(fields["id"], json.loads(fields["data"]) if fields["data"] else None)

    async def send_gmcp(self, name, data):
        await self.socket.send(json.dumps({"proto": "gmcp", "id": name, "data": json.dumps(data)}))

    async def resize(self, columns, rows):
        size = json.dumps({"cols": columns, "rows": rows})
        await self.socket.send(json.dumps({"proto": "terminal", "id": "size", "data": size}))


class Legacy(Terminal):
    """A browser client of mud-web-proxy: text and the password mode as binary messages, GMCP and MSDP as JSON."""

    dialect = "legacy"
    subprotocol = None
    has_gmcp = True
    hides_input = False

    async def begin(self):
        connect = {"connect": 1, "utf8": 1, "mccp": 0, "debug": 0, "ttype": "xterm", "name": "Guest", "mxp": 1}
        await self.socket.send(json.dumps(connect))

    def receive(self, message):
        if not isinstance(message, str):
            if message[:1] != bytes([IAC]):
                return self.got_text(message)
            if message not in (bytes([IAC, WILL, ECHO]), bytes([IAC, WONT, ECHO])):
                raise Failure(f"a telnet command that the client doesn't know: {message!r}")
            self.hides_input = message[1] == WILL
            return self.say("·", "input is hidden" if self.hides_input else "input is shown")
        fields = json.loads(message)
        if "gmcp" in fields:
            name, _, value = fields["gmcp"].partition(" ")
            return self.got_gmcp(name, json.loads(value) if value else None)
        if set(fields) != {"msdp"} or set(fields["msdp"]) != {"key", "val"}:
            raise Failure(f"neither GMCP nor MSDP: {message}")

    async def send_line(self, text):
        await self.socket.send(text + "\r\n")

    async def send_gmcp(self, name, data):
        await self.socket.send(json.dumps({"gmcp": f"{name} {json.dumps(data)}"}))


class Typed(Client):
    """One JSON object a message; the first one says that it is this dialect."""

    dialect = "typed"

    def __init__(self, options):
        super().__init__(options)
        self.session = None
        self.last = None
        self.sequence = []

    async def begin(self):
        await self.send({"type": "connect", "host": "localhost", "port": 4000, "width": 100, "height": 40})
        session = await self.wait("the session", lambda: self.session)
        self.check(re.fullmatch("[0-9a-f]{64}", session["token"]), "the session has an id and a token")

    def receive(self, message):
        if not isinstance(message, str):
            raise Failure("a binary message")
        fields = json.loads(message)
        self.last = fields["type"]
        if "seq" in fields:
            self.sequence.append(fields["seq"])
        match fields["type"]:
            case "session":
                self.session = fields
            case "data":
                self.got_text(base64.b64decode(fields["payload"], validate=True))
            case "gmcp":
                self.got_gmcp(fields["package"], fields.get("data"))
            case "error":
                raise Failure(f"{fields['code']}: {fields['message']}")
            case "disconnected":
                self.say("·", f"disconnected: {fields['reason']}")

    async def send(self, message):
        await self.socket.send(json.dumps(message))

    async def send_line(self, text):
        await self.send({"type": "input", "text": text + "\r\n"})

    async def send_gmcp(self, name, data):
        await self.send({"type": "gmcp", "package": name, "data": data})

    async def resize(self, columns, rows):
        await self.send({"type": "naws", "width": columns, "height": rows})

    async def closed(self):
        end = await super().closed()
        self.check(self.last == "disconnected", "the last message says that the game has closed")
        rising = all(a < b for a, b in zip(self.sequence, self.sequence[1:]))
        self.check(rising, "the sequence numbers only rise")
        return end


async def play(client):
    """One player's visit, from the greeting to the farewell."""
    name, password = f"{client.dialect.capitalize()}{client.options.name}", secrets.token_hex(8)
    await client.expect("Welcome to .*the castle behind the portcullis.*connect <username> <password>")
    await client.line(f"create {name} {password}", shown=f"create {name} ********")
    await client.expect("Is this what you intended")
    await client.line("y")
    await client.expect(f"A new account '{name}' was created")
    await client.line(f"connect {name} {password}", shown=f"connect {name} ********")
    await client.expect("You become ")
    await client.expect("Limbo")
    client.check(True, "an account and its character were created, and logged in")

    await client.line("say Grüße, ✓")
    await client.expect("You say, \"Grüße, ✓")
    client.check(True, "what isn't ASCII arrives, and comes back")
    client.check("\x1b[" in client.text, "there are colours")

    if client.has_gmcp:
        await client.expect_gmcp("Logged.In")
        client.check(True, "Evennia's GMCP message at the login has arrived")
        await client.tell("Core.Echo", ["hello"])
        await client.expect(r"Echo returns: \['hello'\], \{\}")
        client.check(True, "Evennia has understood a GMCP message of the client's")
    await play_with_sizes(client)

    await client.line("quit")
    await client.expect("Hope to see you again")
    client.say("·", f"closed: {await client.closed()}")
    check_text(client)


async def play_with_sizes(client):
    client.check(await size(client) == (100, 40), "Evennia knows the window's size: 100 × 40")
    if not client.can_resize:
        return
    # Evennia tells its game of a new size when the next one comes.
    for columns, rows in ((77, 33), (78, 34)):
        client.say("⇒", f"the window is {columns} × {rows} now")
        await client.resize(columns, rows)
        await asyncio.sleep(SETTLE)
    client.check(await size(client) == (77, 33), "Evennia knows the window's new size: 77 × 33")


async def size(client):
    """Columns and rows, as Evennia's game knows them: by GMCP, or else from the table that `option` prints."""
    if client.has_gmcp:
        client.gmcp.clear()  # Evennia may have told what it knew before the size
        await client.tell("Core.Client_Options", {"get": True})
        options = await client.expect_gmcp("Core.Supports.Get")
        return options["SCREENWIDTH"]["0"], options["SCREENHEIGHT"]["0"]
    await client.line("option")
    start = client.seen
    await client.expect("XTERM256")
    table = client.plain()[start:]
    return tuple(int(re.search(rf"SCREEN{side} *\| *(\d+)", table)[1]) for side in ("WIDTH", "HEIGHT"))


def check_text(client):
    """Nothing of telnet or of what travels beside the text may stand in it."""
    controls = set(re.findall(r"[\x00-\x1a\x1c-\x1f\x7f-\x9f]", client.text)) - {"\r", "\n", "\t"}
    client.check(not controls, f"no control character but line ends and ESC is in {len(client.text)} characters of text")
    sequences = set(re.findall(r"\x1b(?!\[[0-9;]*m)...", client.text))
    client.check(not sequences, "every escape sequence is a colour")
    client.check("\ufffd" not in client.text and "\xff" not in client.text, "no broken character is in it")
    for leak in ("Logged.In", "Core.Supports", "client_options", "CODEBASE", "&lt;"):
        client.check(leak not in client.text, f"{leak} isn't in it")


async def main():
    clients = {each.dialect: each for each in (Raw, Terminal, Gmcp, Json, Typed, Legacy)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--name", default="player", help="what the players' names end in")
    parser.add_argument("dialects", nargs="+", choices=clients)
    options = parser.parse_args()

    outcomes = {}
    for dialect in options.dialects:
        print(f"\n== {dialect} ==\n")
        client = clients[dialect](options)
        try:
            try:
                await client.play_with(play)
            except InvalidStatus as refusal:
                answer = refusal.response
                raise Failure(f"refused with {answer.status_code}: {answer.body.decode()}") from None
            outcomes[dialect] = f"all {client.checks} checks hold"
        except Exception as error:
            outcomes[dialect] = f"FAILED: {error if isinstance(error, Failure) else repr(error)}"
            print(f"  ✗ {outcomes[dialect]}")
    print()
    for dialect, outcome in outcomes.items():
        print(f"{dialect:>9}: {outcome}")
    return any(outcome.startswith("FAILED") for outcome in outcomes.values())


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

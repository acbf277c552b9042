"""Python's `websockets` against the gateway: see scripts/try-clients."""

import asyncio
import os
import ssl
import sys

import websockets
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

PORT, CA, CERTIFICATE, KEY, OFFERS = sys.argv[1:6]
ADDRESS = f"wss://localhost:{PORT}/?cols=100&x=%5B1%5D"
LIMIT = 30  # seconds
checks = 0


def check(holds, what):
    global checks
    if not holds:
        sys.exit(f"websockets: {what}")
    checks += 1


def context(with_certificate=True):
    made = ssl.create_default_context(cafile=CA)
    if with_certificate:
        made.load_cert_chain(CERTIFICATE, KEY)
    return made


async def echo(socket, *messages):
    """Sends each and takes the echo, which may come in other pieces: the target's is a stream of bytes."""
    expected = b"".join(each.encode() if isinstance(each, str) else each for each in messages)
    sender = asyncio.create_task(send_all(socket, messages))
    got = b""
    while len(got) < len(expected):
        got += await asyncio.wait_for(socket.recv(decode=False), LIMIT)
    await sender
    return got == expected


async def send_all(socket, messages):
    for each in messages:
        await socket.send(each)


async def play():
    compression = "deflate" if OFFERS == "1" else None
    options = dict(ssl=context(), compression=compression, max_size=None, subprotocols=["telnet"])
    async with connect(ADDRESS, **options) as socket:
        check(socket.subprotocol == "telnet", "the subprotocol")
        check(await echo(socket, "look"), "a text message")
        check(await echo(socket, "Grüße, 世界 🏰\r\n"), "UTF-8")
        check(await echo(socket, bytes(range(255)) * 4), "a binary message")
        check(await echo(socket, os.urandom(65_536)), "a message as large as allowed")
        check(await echo(socket, b"look around " * 5_000), "a long message that compresses well")
        check(await echo(socket, *(f"line {number}\r\n" for number in range(300))), "300 messages")
        check(await echo(socket, "", "behind an empty message"), "an empty message")
        await socket.send(["in ", "three ", "fragments"])
        got = b""
        while len(got) < 18:
            got += await asyncio.wait_for(socket.recv(decode=False), LIMIT)
        check(got == b"in three fragments", "fragments")
        await asyncio.wait_for(await socket.ping(b"are you there?"), LIMIT)
        check(True, "a pong")
        extensions = socket.response.headers.get("Sec-WebSocket-Extensions", "-")
        await socket.close(1000, "done")
        check(socket.close_code == 1000, f"the close code {socket.close_code}")
    try:
        async with connect(ADDRESS, ssl=context(with_certificate=False)):
            check(False, "a stranger was admitted")
    except InvalidStatus as error:
        check(error.response.status_code == 401, f"a refusal with {error.response.status_code}")
        check(error.response.headers["X-Refusal-Code"] == "app_auth_required", "the refusal's code")
    print(f"{websockets.__version__}\t{extensions}\t{checks}")


asyncio.run(asyncio.wait_for(play(), 4 * LIMIT))

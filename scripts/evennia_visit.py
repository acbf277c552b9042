"""Plays through docs/EVENNIA.md in place of a browser, for scripts/try-with-evennia: TLS, the client's address, and GMCP."""

import argparse
import asyncio
import re
import ssl

from websockets.asyncio.client import connect

HERE = "127.0.0.2"  # not the gateway's address
LIMIT = 30  # seconds that an answer may take


async def visit(options):
    context = ssl.create_default_context(cafile=options.ca)
    url = f"wss://localhost:{options.port}/?ticket={options.ticket}&cols=160"
    protocols = ["gmcp.mudstandards.org"]
    async with connect(url, ssl=context, subprotocols=protocols, local_addr=(HERE, 0)) as socket:

        async def expect(pattern, kind):
            text = ""
            async with asyncio.timeout(LIMIT):
                while not re.search(pattern, text):
                    message = await socket.recv()
                    if isinstance(message, kind):
                        text += message if kind is str else re.sub(r"\x1b\[[0-9;]*m", "", message.decode())
            print(f"  ✓ {pattern}", flush=True)

        async def say(line):
            await socket.send(line.encode() + b"\r\n")

        await expect("connect <username> <password>", bytes)
        await say(f"connect keeper {options.password}")
        await expect("You become keeper", bytes)
        await say("who")
        await expect(rf"\| {re.escape(HERE)} +\|", bytes)
        await say('py self.msg(char_vitals={"hp": 100})')
        await expect(r'Char\.Vitals \{"hp": ?100\}', str)
        await say("quit")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    for name in ("ticket", "password", "ca"):
        parser.add_argument(f"--{name}", required=True)
    asyncio.run(visit(parser.parse_args()))

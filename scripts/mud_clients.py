"""Scripted players for scripts/try-with-mud: a play for each server, in each dialect of the gateway.

The dialects are those of scripts/evennia_clients.py. With --serve it is an inetd for one daemon.
"""

import argparse
import asyncio
import re
import secrets
import socket
import subprocess
import sys
import threading

LIMIT_LINES = 5


# -- The plays


async def play_telnetlib3(client, _):
    """Every command has one answer and one prompt, also in BINARY."""
    prompt = r"tel:sh> "
    await client.expect(prompt)
    for command, answer in (("version", r"\d+\.\d+"), ("help", "quit"), ("version", r"\d+\.\d+")):
        await client.line(command)
        await client.expect(answer)
        await client.expect(prompt)
    await client.line("Grüße ✓")
    await client.expect("no such command")
    await client.expect(prompt)
    prompts = client.plain().count("tel:sh> ")
    client.check(prompts == LIMIT_LINES, f"{LIMIT_LINES - 1} lines have had one answer each, and no line was taken for two")
    await client.line("quit")
    await client.expect("Goodbye")
    client.say("·", f"closed: {await client.closed()}")


async def play_telnetd(client, _):
    """A game behind a terminal, and then a program that numbers the lines that it is sent."""
    await client.expect("instructions")
    await client.line("no")
    await client.expect("(?i)standing at the end of a road")
    await client.line("enter")
    await client.expect("(?i)inside a building")
    client.check(True, "the game has understood two lines")
    await client.line("quit")
    await client.expect("(?i)really want to quit")
    await client.line("yes")
    await client.expect("(?i)points")
    for number, word in enumerate(("one", "two", "three"), start=1):
        await client.line(word)
        await client.expect(rf" {number}\t{word}")
    client.check(True, "three lines are three lines to a program behind a terminal")
    if client.dialect == "legacy":
        client.check(client.hides_input, "the client knows that telnetd echoes")


async def play_tinymux(client, _):
    name = f"{client.dialect.capitalize()}{secrets.token_hex(2)}"
    await client.expect("Welcome to TinyMUX.*creates a new character")
    await client.line(f"create {name} {secrets.token_hex(6)}", shown=f"create {name} ********")
    await client.expect("Limbo")
    client.check(True, "a character was created")
    for word in ("one", "two", "three"):
        await client.line(f"think <{word}>")
        await client.expect(f"<{word}>")
    if client.dialect != "raw":  # the raw client agrees on no character set
        await client.line("say Grüße")
        await client.expect("You say, .Grüße")
        client.check(True, "what isn't ASCII arrives, and comes back")
    client.check("Huh?" not in client.plain(), "no line was taken for two")
    await client.line("QUIT")
    await client.expect("Disconnected")
    client.say("·", f"closed: {await client.closed()}")


PLAYS = {"telnetlib3": play_telnetlib3, "telnetd": play_telnetd, "tinymux": play_tinymux}


def check_text(client):
    """Nothing of telnet may stand in the text."""
    controls = set(re.findall(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x80-\x9f]", client.text))
    client.check(not controls, f"no control character of telnet's is in {len(client.text)} characters of text")
    client.check("\ufffd" not in client.text and "\xff" not in client.text, "no broken character is in it")


# -- An inetd


def serve(port, command):
    """A daemon for each connection, with the connection as its standard input and output."""
    server = socket.create_server(("127.0.0.1", port))
    while True:
        connection, _ = server.accept()
        daemon = subprocess.Popen(command, stdin=connection, stdout=connection)
        connection.close()
        threading.Thread(target=daemon.wait, daemon=True).start()


# -- All of it


async def main(options):
    from evennia_clients import Failure, Gmcp, Json, Legacy, Raw, Terminal, Typed
    from websockets.exceptions import InvalidStatus

    clients = {each.dialect: each for each in (Raw, Terminal, Gmcp, Json, Typed, Legacy)}
    outcomes = {}
    for dialect in options.dialects:
        print(f"\n== {options.server}, {dialect} ==\n")
        client = clients[dialect](options)

        async def play(client):
            await PLAYS[options.server](client, options)
            check_text(client)

        try:
            try:
                await client.play_with(play)
            except InvalidStatus as refusal:
                raise Failure(f"refused with {refusal.response.status_code}") from None
            outcomes[dialect] = f"all {client.checks} checks hold"
        except Exception as error:
            outcomes[dialect] = f"FAILED: {error if isinstance(error, Failure) else repr(error)}"
            print(f"  ✗ {outcomes[dialect]}")
    print(f"\n{'server':>11}  {'dialect':<9} outcome")
    for dialect, outcome in outcomes.items():
        print(f"{options.server:>11}  {dialect:<9} {outcome}")
    return any(outcome.startswith("FAILED") for outcome in outcomes.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--serve", type=int, metavar="PORT")
    parser.add_argument("--server", choices=PLAYS)
    parser.add_argument("--port")
    parser.add_argument("--ca")
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    parser.add_argument("dialects", nargs="*")
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve, options.dialects)
    sys.exit(asyncio.run(main(options)))

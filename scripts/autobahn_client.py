"""Runs the Autobahn test suite's fuzzing client against a gateway with an echo behind it. Python 2.7, as the suite itself.

The suite expects each message back as it was sent. A raw session of the gateway is a stream of bytes: boundaries and types of messages carry
no meaning, and an empty message carries nothing. So this client notes what each case sends as messages, and gives the case a message back once
its bytes have come back. Frames, control frames, closing, compression and times are checked by the suite as they are.

    usage: autobahn_client.py URL FOLDER MESSAGES CASE...

MESSAGES is how many messages each case of sections 12 and 13 sends; the suite's own number is 1000.
"""

from __future__ import print_function

import json
import os
import sys

from autobahntestsuite import choosereactor  # It chooses Twisted's reactor, so it comes first.
from autobahntestsuite import case, fuzzing
from twisted.internet import reactor

PASSED = ("OK", "NON-STRICT", "INFORMATIONAL")
Base = fuzzing.FuzzingClientProtocol


class StreamProtocol(Base):
    def connectionMade(self):
        self.awaited = []
        self.unfinished = None
        self.is_sending = False
        self.stream = []
        self.stream_length = 0
        Base.connectionMade(self)

    # The frames that the case sends.

    def sendMessage(self, payload, isBinary=False, **more):
        self.awaited.append((payload, isBinary))
        self.is_sending = True
        try:
            Base.sendMessage(self, payload, isBinary, **more)
        finally:
            self.is_sending = False
        self.deliver_empty()

    def sendFrame(self, opcode, payload=b"", fin=True, rsv=0, mask=None, payload_len=None, **more):
        if not self.is_sending and opcode in (0, 1, 2):
            self.note(opcode, payload, fin, payload_len)
        Base.sendFrame(
            self, opcode, payload, fin=fin, rsv=rsv, mask=mask, payload_len=payload_len, **more)
        self.deliver_empty()

    def note(self, opcode, payload, fin, length):
        if length is not None and payload:
            payload = (payload * (length // len(payload) + 1))[:length]
        if opcode:
            self.unfinished = ([], opcode == 2)
        if self.unfinished is None:
            return
        self.unfinished[0].append(payload)
        if fin:
            self.awaited.append((b"".join(self.unfinished[0]), self.unfinished[1]))
            self.unfinished = None

    # The frames that the gateway sends.

    def onMessage(self, message, binary):
        if not binary:
            raise Exception("a raw session sends binary messages")
        self.stream.append(message)
        self.stream_length += len(message)
        self.deliver()

    def deliver_empty(self):
        """An empty message is back when all before it are, which no event of the gateway's tells."""
        if self.awaited and not self.awaited[0][0]:
            reactor.callLater(0, self.deliver)

    def deliver(self):
        while self.awaited and len(self.awaited[0][0]) <= self.stream_length:
            expected, binary = self.awaited.pop(0)
            bytes = b"".join(self.stream)
            message, rest = bytes[:len(expected)], bytes[len(expected):]
            self.stream, self.stream_length = [rest], len(rest)
            if message != expected:
                self.sendClose(4000, u"the echo differs")
                return
            Base.onMessage(self, message, binary)


def table(report):
    failed = 0
    behaviours = {}
    for name, result in sorted(report.items(), key=lambda item: [int(n) for n in item[0].split(".")]):
        behaviour, closing = result["behavior"], result["behaviorClose"]
        is_passed = behaviour in PASSED and closing in ("OK", "INFORMATIONAL")
        failed += not is_passed
        key = (name.split(".")[0], behaviour, closing)
        behaviours[key] = behaviours.get(key, 0) + 1
        if not is_passed:
            print("  FAILED %s: %s, closing %s" % (name, behaviour, closing))
    print("  section  behaviour      closing        cases")
    for section, behaviour, closing in sorted(behaviours, key=lambda key: (int(key[0]),) + key[1:]):
        print("  %-8s %-14s %-14s %5d" % (section, behaviour, closing, behaviours[section, behaviour, closing]))
    print("  %d cases, %d failed" % (len(report), failed))
    return failed


def main():
    url, folder, messages = sys.argv[1], sys.argv[2], int(sys.argv[3])
    fuzzing.FuzzingClientProtocol = StreamProtocol
    for each in case.Cases:
        if hasattr(each, "COUNT"):
            each.COUNT = messages
    spec = {
        "outdir": folder,
        "servers": [{"agent": "gateway", "url": url}],
        "cases": sys.argv[4:],
        "exclude-cases": [],
        "exclude-agent-cases": {},
    }
    fuzzing.startClient(spec)
    reactor.run()
    with open(os.path.join(folder, "index.json")) as file:
        report = json.load(file)["gateway"]
    return 1 if table(report) or not report else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What scripts/try-with-nginx puts behind a proxy, and its WebSocket client.

    proxy_trial.py api CERTIFICATE KEY SECRET       an HTTPS API that wants its key, and streams a few words as server-sent events; PUT compares the digest of the body
    proxy_trial.py mud                              a service that answers each line with the line itself
    proxy_trial.py play URL AUTHORITY TOKEN PROOF   a session: sends a line, and prints what comes back
"""
import base64
import hashlib
import http.server
import os
import socket
import socketserver
import ssl
import sys
import time
import urllib.parse


class API(http.server.BaseHTTPRequestHandler):
    secret = ""

    def read_body(self):
        """The body of a request that has come through the proxy; None for any other."""
        if self.headers["Authorization"] != f"Bearer {self.secret}":
            self.send_error(401, "not the provider's key")
        elif "forged" in str(self.headers) or self.headers["DPoP"]:
            self.send_error(500, "the proxy passed on what it must not")
        else:
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return None

    def do_PUT(self):
        """A request that a device has signed. With recipe 2 nobody but this service has seen the body."""
        body = self.read_body()
        if body is None:
            return
        digest = "sha-256=:" + base64.b64encode(hashlib.sha256(body).digest()).decode() + ":"
        if self.headers["X-Portcullis-Content-Digest"] != (digest if body else "absent"):
            return self.send_error(400, "the device has signed another body")
        answer = f"{len(body)} bytes of {self.headers['X-Portcullis-App']} ({self.headers['X-Portcullis-Method']})\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_POST(self):
        if self.read_body() is None:
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        who = self.headers["X-Portcullis-App"]
        for word in ["Hello,", who, f"({self.headers['X-Portcullis-Mode']}).", "Nice", "to", "meet", "you."]:
            self.wfile.write(f"data: {word}\n\n".encode())
            self.wfile.flush()
            time.sleep(0.2)

    def log_message(self, *_):
        pass


def api(certificate, key, secret):
    API.secret = secret
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), API)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print("the API listens on", server.server_port, flush=True)
    server.serve_forever()


class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(line)


def mud():
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo)
    server.daemon_threads = True
    print("the MUD listens on", server.server_address[1], flush=True)
    server.serve_forever()


def frame(payload):
    """A masked binary frame (RFC 6455 section 5.2) with at most 125 bytes."""
    mask = os.urandom(4)
    return bytes([0x82, 0x80 | len(payload)]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


def play(url, authority, token, proof):
    place = urllib.parse.urlsplit(url)
    context = ssl.create_default_context(cafile=authority)
    plain = socket.create_connection((place.hostname, place.port), timeout=20)
    line = b"look at the gate\r\n"
    with context.wrap_socket(plain, server_hostname=place.hostname) as stream:
        stream.sendall(
            f"GET {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
            f"Authorization: DPoP {token}\r\nDPoP: {proof}\r\n\r\n".encode())
        received = b""
        while b"\r\n\r\n" not in received:
            piece = stream.recv(4096)
            if not piece:
                sys.exit(f"the proxy closed the connection after {received!r}")
            received += piece
        head, received = received.split(b"\r\n\r\n", 1)
        if not head.startswith(b"HTTP/1.1 101 "):
            sys.exit(f"no session:\n{head.decode()}\n\n{received.decode()}")
        stream.sendall(frame(line))
        while line not in received:
            piece = stream.recv(4096)
            if not piece:
                sys.exit(f"the session ended after {received!r}")
            received += piece
        print("101, and the MUD answered:", line.decode().strip())


if __name__ == "__main__":
    {"api": api, "mud": mud, "play": play}[sys.argv[1]](*sys.argv[2:])

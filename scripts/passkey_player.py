"""A player with passkeys for scripts/try-passkeys, in Python: sign-up, sign-in, a second device, removal, recovery.

The authenticator writes what it writes with Yubico's fido2, the proofs (RFC 9449) are signed with cryptography, and py_webauthn is a server
that checks the authenticator of portcullis-sim. None of it shares code with the gateway.
"""

import argparse
import base64
import hashlib
import http.client
import json
import os
import secrets
import socket
import ssl
import subprocess
import time
import urllib.parse

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils
from fido2.cose import ES256, RS256, EdDSA
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers.cose import COSEAlgorithmIdentifier
from webauthn.helpers.structs import AttestationConveyancePreference, AttestationFormat

LIMIT = 30  # seconds that an answer may take
AAGUID = b"python's trial ."

UP, UV, BE, BS, AT = 0x01, 0x04, 0x08, 0x10, 0x40


class Failure(Exception):
    pass


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


def sha256(data):
    return hashlib.sha256(data).digest()


def check(condition, what, *seen):
    if not condition:
        raise Failure(" ".join([what, *map(str, seen)]))


def done(what):
    print(f"ok: {what}", flush=True)


# ---- The authenticator ----------------------------------------------------------------------------------------------


class Passkey:
    def __init__(self, algorithm, relying_party, user):
        self.id, self.relying_party, self.user = secrets.token_bytes(32), relying_party, user
        if algorithm == -8:
            self.key = ed25519.Ed25519PrivateKey.generate()
            self.cose = EdDSA.from_cryptography_key(self.key.public_key())
        elif algorithm == -257:
            self.key = rsa.generate_private_key(65537, 2048)
            self.cose = RS256.from_cryptography_key(self.key.public_key())
        else:
            self.key = ec.generate_private_key(ec.SECP256R1())
            self.cose = ES256.from_cryptography_key(self.key.public_key())

    def sign(self, message):
        if isinstance(self.key, ed25519.Ed25519PrivateKey):
            return self.key.sign(message)
        if isinstance(self.key, rsa.RSAPrivateKey):
            return self.key.sign(message, padding.PKCS1v15(), hashes.SHA256())
        return self.key.sign(message, ec.ECDSA(hashes.SHA256()))


class Authenticator:
    """With the browser in front of it: options in, what toJSON() of a credential returns out."""

    def __init__(self, algorithm=-7, counts=False):
        self.algorithm, self.counts, self.counter = algorithm, counts, 0
        self.passkeys = []

    def data(self, relying_party, flags, credential=b""):
        if self.counts:
            self.counter += 1
        return AuthenticatorData.create(sha256(relying_party.encode()), flags, self.counter, credential)

    def create(self, options, origin, flags=UP | UV | BE | BS):
        known = {entry["id"] for entry in options.get("excludeCredentials", [])}
        check(not known & {b64(passkey.id) for passkey in self.passkeys}, "the authenticator has a passkey of the account")
        check(self.algorithm in [entry["alg"] for entry in options["pubKeyCredParams"]], "the algorithm isn't offered")
        relying_party = options["rp"]["id"]
        passkey = Passkey(self.algorithm, relying_party, unb64(options["user"]["id"]))
        self.passkeys.append(passkey)
        credential = AttestedCredentialData.create(AAGUID, passkey.id, passkey.cose)
        attested = AttestationObject.create("none", self.data(relying_party, flags | AT, credential), {})
        client_data = CollectedClientData.create("webauthn.create", unb64(options["challenge"]), origin)
        return self.credential(passkey, clientDataJSON=client_data, attestationObject=attested)

    def get(self, options, origin, flags=UP | UV | BE | BS, passkey=None):
        mine = [known for known in self.passkeys if known.relying_party == options["rpId"]]
        check(passkey or mine, "the authenticator has no passkey for", options["rpId"])
        passkey = passkey or mine[-1]
        data = self.data(options["rpId"], flags)
        client_data = CollectedClientData.create("webauthn.get", unb64(options["challenge"]), origin)
        signature = passkey.sign(bytes(data) + sha256(bytes(client_data)))
        return self.credential(
            passkey, clientDataJSON=client_data, authenticatorData=data, signature=signature, userHandle=passkey.user)

    @staticmethod
    def credential(passkey, **response):
        return {
            "id": b64(passkey.id), "rawId": b64(passkey.id), "type": "public-key", "clientExtensionResults": {},
            "response": {name: b64(bytes(value)) for name, value in response.items()},
        }


# ---- Proofs and requests --------------------------------------------------------------------------------------------


class ProofKey:
    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        numbers = self.key.public_key().public_numbers()
        x, y = (b64(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
        self.jwk = {"crv": "P-256", "kty": "EC", "x": x, "y": y}
        self.thumbprint = b64(sha256(compact(self.jwk)))

    def proof(self, method, url, token, nonce):
        claims = {"htm": method, "htu": url, "iat": int(time.time()), "jti": secrets.token_hex(16)}
        if token:
            claims["ath"] = b64(sha256(token.encode()))
        if nonce:
            claims["nonce"] = nonce
        signed = ".".join(b64(compact(part)) for part in ({"typ": "dpop+jwt", "alg": "ES256", "jwk": self.jwk}, claims))
        r, s = utils.decode_dss_signature(self.key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return signed + "." + b64(r.to_bytes(32, "big") + s.to_bytes(32, "big"))


class Gateway:
    def __init__(self, origin, authorities):
        self.origin, self.address = origin, urllib.parse.urlsplit(origin)
        self.tls = ssl.create_default_context(cafile=authorities)
        self.nonce = None

    def send(self, method, path, body, headers):
        connection = http.client.HTTPSConnection(self.address.hostname, self.address.port, timeout=LIMIT, context=self.tls)
        try:
            connection.request(method, path, None if body is None else compact(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, json.loads(answer.read() or b"{}")
        finally:
            connection.close()

    def proofs(self, method, path, key, token):
        if key is None:
            return {}
        headers = {"DPoP": key.proof(method, self.origin + path.split("?")[0], token, self.nonce)}
        return headers | ({"Authorization": f"DPoP {token}"} if token else {})

    def ask(self, method, path, body=None, key=None, token=None):
        """The status and the content. A demand for a nonce is met once."""
        for _ in range(2):
            headers = {"Content-Type": "application/json", "Origin": self.origin} | self.proofs(method, path, key, token)
            status, fields, content = self.send(method, path, body, headers)
            self.nonce = fields.get("DPoP-Nonce", self.nonce)
            if content.get("code") != "use_dpop_nonce":
                break
        return status, content

    def refused(self, status, code, method, path, body=None, key=None, token=None):
        answer = self.ask(method, path, body, key, token)
        check(answer[0] == status and answer[1].get("code") == code, f"{method} {path}: not {status} {code} but", answer)

    def ok(self, method, path, body=None, key=None, token=None):
        status, content = self.ask(method, path, body, key, token)
        check(status == 200, f"{method} {path}:", status, content)
        return content

    def play(self, path="/", key=None, token=None):
        for _ in range(2):
            session = Session(self, path, self.proofs("GET", path, key, token))
            if session.status == 101:
                return session
            self.nonce = session.fields.get("dpop-nonce", self.nonce)
        raise Failure(f"GET {path}: {session.status} {session.fields.get('x-refusal-code')}")


class Session:
    """A WebSocket, in as far as the trial needs one."""

    def __init__(self, gateway, path, headers):
        plain = socket.create_connection((gateway.address.hostname, gateway.address.port), LIMIT)
        self.socket = gateway.tls.wrap_socket(plain, server_hostname=gateway.address.hostname)
        lines = [f"GET {path} HTTP/1.1", f"Host: {gateway.address.netloc}", "Connection: Upgrade", "Upgrade: websocket",
                 "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.socket.sendall("\r\n".join(lines + ["", ""]).encode())
        self.reader = self.socket.makefile("rb")
        self.status = int(self.reader.readline().split()[1])
        self.fields = {}
        while line := self.reader.readline().decode().strip():
            name, value = line.split(":", 1)
            self.fields[name.lower()] = value.strip()

    def echoes(self, text):
        mask, data = os.urandom(4), (text + "\r\n").encode()
        self.socket.sendall(bytes([0x81, 0x80 | len(data)]) + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))
        heard = b""
        while text.encode() not in heard:
            opcode, payload = self.frame()
            check(opcode != 8, "the session was closed:", payload)
            heard += payload

    def frame(self):
        first, length = self.reader.read(2)
        if length == 126:
            length = int.from_bytes(self.reader.read(2), "big")
        elif length == 127:
            length = int.from_bytes(self.reader.read(8), "big")
        return first & 15, self.reader.read(length)

    def end(self):
        """The code of the gateway's Close frame."""
        while True:
            opcode, payload = self.frame()
            if opcode == 8:
                return int.from_bytes(payload[:2], "big")


# ---- The player -----------------------------------------------------------------------------------------------------

API = "/api/auth/"


class Player:
    def __init__(self, gateway, authenticator):
        self.gateway, self.authenticator, self.key = gateway, authenticator, ProofKey()
        self.token = None

    def register(self, ticket, label):
        options = self.gateway.ok("POST", f"{API}passkey/register/options?" + urllib.parse.urlencode({"ticket": ticket}), {})
        credential = self.authenticator.create(options, self.gateway.origin)
        return self.gateway.ok("POST", f"{API}passkey/register", credential | {"label": label})["account"]

    def options(self):
        return self.gateway.ok("POST", f"{API}passkey/authenticate/options", {"dpop_jkt": self.key.thumbprint})

    def use(self, **how):
        return self.authenticator.get(self.options(), self.gateway.origin, **how)

    def sign_in(self):
        answer = self.gateway.ok("POST", f"{API}passkey/authenticate", self.use(), self.key)
        members = {"accessToken", "expiresIn", "refreshToken", "refreshExpiresIn"}
        check(set(answer) == members and answer["expiresIn"] == 900, "not a sign-in:", set(answer))
        self.token = answer["accessToken"]
        claims = json.loads(unb64(self.token.split(".")[1]))
        check(claims["amr"] == ["passkey"] and claims["cnf"] == {"jkt": self.key.thumbprint}, "the token's claims:", claims)
        return claims["sub"]

    def refused(self, status, code, credential, key=None):
        self.gateway.refused(status, code, "POST", f"{API}passkey/authenticate", credential, key or self.key)

    def own(self, method, path, body=None):
        return self.gateway.ok(method, API + path, body, self.key, self.token)

    def add(self, other, label):
        """The passkey of another authenticator, which this player's confirms."""
        options = self.own("POST", "passkey/register/options", {"passkey": self.use()})
        credential = other.create(options, self.gateway.origin)
        return self.own("POST", "passkey/register", credential | {"label": label})["account"]


def play(gateway, ticket):
    player = Player(gateway, Authenticator(counts=True))
    first_ticket = ticket()
    account = player.register(first_ticket, "phone")
    gateway.refused(401, "invalid_ticket", "POST", f"{API}passkey/register/options?ticket={first_ticket}", {})
    done("a player signs up with a ticket, which serves once")

    check(player.sign_in() == account, "another account's token")
    gateway.play(key=player.key, token=player.token).echoes("look")
    admission = gateway.ok("POST", "/ticket", key=player.key, token=player.token)["ticket"]
    session = gateway.play(f"/?ticket={admission}")
    session.echoes("look again")
    done("the player signs in, and plays with the access token and with a ticket for it")

    stranger = ProofKey()
    player.refused(401, "passkey_rejected", player.use(), stranger)
    player.refused(401, "passkey_rejected", player.use(flags=UP | BE | BS))
    player.refused(401, "passkey_rejected", player.authenticator.get(player.options(), "https://evil.example"))
    credential = player.use()
    changed = bytearray(unb64(credential["response"]["signature"]))
    changed[-1] ^= 1
    forged = credential | {"response": credential["response"] | {"signature": b64(bytes(changed))}}
    player.refused(401, "passkey_rejected", forged)
    player.refused(401, "passkey_rejected", credential)
    unknown = Passkey(-7, "localhost", os.urandom(16))
    player.refused(404, "unknown_credential", player.use(passkey=unknown))
    player.refused(400, "invalid_request", {"id": credential["id"], "publicKey": "x", "signature": "x"})
    done("another key, no verification, another origin, another signature, a used challenge, unknown passkeys: refused")

    tablet = Player(gateway, Authenticator(-8))
    check(player.add(tablet.authenticator, "tablet") == account and tablet.sign_in() == account, "another account")
    synchronised = Player(gateway, player.authenticator)
    check(synchronised.sign_in() == account, "another account")
    labels = [entry["label"] for entry in tablet.own("GET", "devices")["passkeys"]]
    check(sorted(labels) == ["phone", "tablet"], "the account's passkeys:", labels)
    done("a second device signs in, with a passkey of its own and with the first one's")

    lost = player.authenticator.passkeys[0]
    tablet.own("DELETE", f"passkey/{b64(lost.id)}", {"passkey": tablet.use()})
    check(session.end() == 1008, "the removed passkey's session goes on")
    gateway.refused(401, "invalid_token", "GET", f"{API}devices", key=player.key, token=player.token)
    player.refused(404, "unknown_credential", player.use())
    tablet.own("GET", "devices")
    done("the second device removes the first one's passkey, and its session and token end")
    return account


def recover(gateway, ticket, account):
    player = Player(gateway, Authenticator(-257))
    check(player.register(ticket(account), "new phone") == account, "another account")
    check(player.sign_in() == account, "another account's token")
    gateway.play(key=player.key, token=player.token).echoes("look")
    check(len(player.own("GET", "devices")["passkeys"]) == 2, "not two passkeys")
    done("a player who lost everything comes back with a ticket of the operator")


# ---- The server -----------------------------------------------------------------------------------------------------


class Server:
    """py_webauthn, and the authenticator of portcullis-sim."""

    origin, relying_party = "https://play.example.com", "play.example.com"

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, command, name, options, *more):
        arguments = [self.program, "passkey", command, "--passkey", f"{self.folder}/{name}.json", "--origin", self.origin, *more]
        return json.loads(subprocess.run(arguments, input=options_to_json(options), check=True, capture_output=True, text=True).stdout)

    def try_passkey(self, algorithm, form):
        name = f"passkey-{form}{algorithm.value}"
        options = generate_registration_options(
            rp_id=self.relying_party, rp_name="Python", user_name="player", supported_pub_key_algs=[algorithm],
            attestation=AttestationConveyancePreference.DIRECT)
        root = f"{self.folder}/{name}.pem"
        credential = self.run("make", name, options, "--format", form, "--root", root)
        with open(root, "rb") as file:
            roots = {AttestationFormat.PACKED: [file.read()]} if form == "packed" else None
        made = verify_registration_response(
            credential=credential, expected_challenge=options.challenge, expected_origin=self.origin,
            expected_rp_id=self.relying_party, require_user_verification=True, pem_root_certs_bytes_by_fmt=roots,
            supported_pub_key_algs=[algorithm])
        check(AttestationFormat(made.fmt).value == ("none" if form == "none" else "packed"), "not as made:", made.fmt)
        count = made.sign_count
        for _ in range(2):
            count = self.try_use(name, made, count)

    def try_use(self, name, made, count):
        options = generate_authentication_options(rp_id=self.relying_party)
        expected = {
            "expected_challenge": options.challenge, "expected_origin": self.origin, "expected_rp_id": self.relying_party,
            "credential_public_key": made.credential_public_key, "credential_current_sign_count": count,
            "require_user_verification": True,
        }
        used = verify_authentication_response(credential=self.run("get", name, options), **expected)
        check(used.new_sign_count > count, "the counter doesn't grow")
        unverified = self.run("get", name, options, "--unverified")
        try:
            verify_authentication_response(credential=unverified, **expected)
        except Exception:
            return used.new_sign_count + 1
        raise Failure("the server accepts an authenticator that didn't verify its user")


def serve(program, folder):
    server = Server(program, folder)
    algorithms = [
        COSEAlgorithmIdentifier.ECDSA_SHA_256, COSEAlgorithmIdentifier.EDDSA, COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256]
    for form in ("none", "self"):
        for algorithm in algorithms:
            server.try_passkey(algorithm, form)
    server.try_passkey(COSEAlgorithmIdentifier.ECDSA_SHA_256, "packed")
    done("the Python server accepts what portcullis-sim makes: ES256, EdDSA and RS256, unattested, self-attested and attested")


def main():
    parser = argparse.ArgumentParser()
    for name in ("origin", "authorities", "portcullis", "sim", "socket", "folder"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()

    def ticket(account=None):
        arguments = [options.portcullis, "ticket", "--socket", options.socket] + (["--account", account] if account else [])
        return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.split("\n")[0]

    gateway = Gateway(options.origin, options.authorities)
    try:
        account = play(gateway, ticket)
        recover(gateway, ticket, account)
        serve(options.sim, options.folder)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"failed: {error}: {error.stderr}")
    except Failure as failure:
        raise SystemExit(f"failed: {failure}")


if __name__ == "__main__":
    main()

import DPoP
import KeyStore
import StateCoding
import StrictJSON
import WireText

@testable import Admission

/// What the gate reads of requests and bodies, and operators' lists.
let gatePlaces = places {
    upgrades
    registrations
    tokenBodies
    forwarded
    originals
    text("a key's identifier") { use(KeyID(text: $0)) }
    text("a challenge") { text in
        use(Challenge(hex: text))
        let challenges = Challenges(epoch: moment.monotonic)
        use(challenges.spend(text, at: moment.monotonic))
        use(challenges.spend(text, for: .registration, at: moment.monotonic))
    }
    text("a ticket") { text in use(TicketOffice().spend(text, at: moment.monotonic)) }
    text("a session's id and token") { text in
        var register = SessionRegister<Int>()
        var generator = SystemRandomNumberGenerator()
        use(register.bearer(of: SessionCredential(id: text, token: text), at: moment.monotonic))
        _ = register.claim(id: text, token: text, owner: .anonymous, at: moment.monotonic, using: &generator)
    }
    text("a short session's id", bytes: 64) { text in
        var register = SessionRegister<Int>()
        var generator = SystemRandomNumberGenerator()
        _ = register.claim(id: text, token: text, owner: .anonymous, at: moment.monotonic, using: &generator)
    }
    text("an origin") { use(WebOrigin($0)) }
    text("an origin's host") { use(WebOrigin("https://" + $0)) }
    text("a development token") { use(DevelopmentTokenText(presented: $0)) }
    text("a development token behind its prefix") { use(DevelopmentTokenText(presented: "pcdev_" + $0)) }
    text("a shown secret") { text in use(secrets?.secret(shownAs: text)) }
    text("an internal token") { text in use(try? InternalToken(String(repeating: "a", count: 40)).matches(text)) }
    text("an internal token's file") { use(try? InternalToken($0)) }
    text("a file of shared secrets") { use(try? SharedSecrets($0)) }
    text("the names of shared secrets") { text in use(try? SharedSecrets(text + " sha256:" + hash)) }
    text("the hash of a shared secret") { text in use(try? SharedSecrets("a " + text)) }
    text("a block list") { use(try? BlockList($0, kinds: kinds)) }
    text("a kind in a block list") { text in use(try? BlockList(text + " 192.0.2.1", kinds: kinds)) }
    text("an address in a block list") { text in use(try? BlockList("address " + text, kinds: kinds)) }
    text("an identity in a block list") { text in
        use(try? BlockList("key \(text)\ncertificate \(text)", kinds: kinds))
    }
    text("an entry of a fleet's block list") { text in use(BlockList.reading([text, "key " + text], kinds: kinds))
    }
    text("a field of an identity") { use(FieldText.escaped($0)) }
    prepared("a carried identity") { text in
        let bytes = try StateEncoder.bytes(of: CarriedIdentity(Identity(method: TicketMethod.name, subject: text)))
        let carrier = PrincipalCarrier([TicketMethod(office: nil), AnonymousMethod(isAllowed: true)])
        return { use(try? carrier.restore(try StateDecoder.decode(CarriedIdentity.self, from: bytes))) }
    }
}

private let moment = Moment(
    monotonic: MonotonicTime(nanoseconds: 5_000_000_000_000), unixMilliseconds: 1_771_300_000_000)
private let kinds = [AppAttestMethod.blockListKind, ClientCertificateMethod.blockListKind]
private let hash = String(repeating: "0123456789abcdef", count: 4)
private let secrets = try? SharedSecrets("app sha256:\(hash)")

// MARK: Upgrades

private let gates: [Gate] = [nil, secrets].map { secrets in
    var settings = GateSettings(
        drain: DrainSwitch(), leases: SessionLeases(maximum: nil),
        methods: [
            TicketMethod(office: TicketOffice()), AccessTokenMethod(nil), AppAttestMethod(nil),
            SessionTokenMethod(bearer: { _, _ in nil }), ClientCertificateMethod(status: nil),
            AnonymousMethod(isAllowed: true),
        ])
    settings.sharedSecrets = secrets
    return Gate(settings)
}

/// One text of a request that is otherwise admitted.
private func upgrade(
    _ name: String, bytes: Int = 65_536, _ change: @escaping @Sendable (inout AdmissionRequest, String) -> Void
) -> HostilePlace {
    prepared("\(name) of an upgrade", bytes: bytes, spelled: [.field]) { text in
        var request = AdmissionRequest(
            id: "r1", address: IPAddress(ipv4: (192, 0, 2, 1)), moment: moment,
            handshake: UpgradeHandshake(),
            origin: nil, host: "gate.example:6200", isTLS: true, fields: CredentialFields(), certificate: nil)
        change(&request, text)
        let asked = request
        return {
            for gate in gates {
                use(gate.evaluate(asked))
                use(gate.authenticate(asked))
                use(gate.screen(asked))
            }
        }
    }
}

private func field(_ name: String, before: String = "") -> HostilePlace {
    upgrade("the field \(name)\(before.isEmpty ? "" : " behind `\(before)`")") { request, text in
        if name == "authorization" { request.authorization = before + text }
        request.fields = CredentialFields(
            CredentialFieldNames(headers: gates[0].fields.headers, parameters: gates[0].fields.parameters),
            header: { $0 == name ? before + text : nil }, parameter: { _ in nil })
    }
}

private let upgrades = places {
    upgrade("the method") { $0.handshake.method = $1 }
    upgrade("the version") { $0.handshake.fault = .version(received: $1) }
    upgrade("the subprotocol") { $0.handshake.fault = .subprotocols(offered: [$1], known: ["telnet"]) }
    upgrade("many subprotocols") { request, text in
        let offered = (0..<32).map {
            String($0) + String(text.unicodeScalars.prefix(text.unicodeScalars.count / 32))
        }
        request.handshake.fault = .subprotocols(offered: offered, known: ["telnet"])
    }
    upgrade("the origin") { $0.origin = $1 }
    upgrade("the origin's host") { $0.origin = "https://" + $1 }
    upgrade("the host") { request, text in
        request.host = text
        request.origin = "https://gate.example"
    }
    upgrade("the path") { $0.path = $1 }
    upgrade("the route") { request, text in
        request.route = text
        request.allowedMethods = ["app", "cert"]
    }
    upgrade("the session") { $0.session = SessionCredential(id: $1, token: $1) }
    upgrade("the ticket") { request, text in
        request.fields = CredentialFields(
            CredentialFieldNames(parameters: ["ticket"]), header: { _ in nil }, parameter: { _ in text })
    }
    upgrade("the names in a certificate") { request, text in
        var certificate = ClientCertificate(
            isVerified: false, isResumedSession: false, sha256: [UInt8](repeating: 1, count: 32), subject: text,
            notAfter: nil)
        certificate.issuerName = text
        certificate.problem = text
        request.certificate = certificate
    }
    field("authorization")
    field("authorization", before: "Bearer ")
    field("authorization", before: "Bearer eyJ")
    field("authorization", before: "DPoP ")
    field("dpop")
    field("x-app-assert-keyid")
    field("x-app-assert-data")
    field("x-app-assert-nonce")
}

// MARK: Bodies

private func registration(_ name: String, in body: String) -> HostilePlace {
    json("\(name) of a registration", in: body) { register($0) }
}

private func register(_ body: [UInt8]) {
    guard let object = try? JSONReader.readObject(body, maximumBytes: 1 << 20) else { return }
    use(RegistrationDialect(of: object))
    use(RegistrationRequest.read(object, maximumBytes: 65_536))
}

private let registrations = places {
    registration("a member", in: #"{"$":"a"}"#)
    registration("two members", in: #"{"$":"a","$a":"b"}"#)
    registration("keyId", in: #"{"keyId":"$","attestation":"AA==","nonce":"a"}"#)
    registration("attestation", in: #"{"keyId":"\#(key)","attestation":"$","nonce":"a"}"#)
    registration("nonce", in: #"{"keyId":"\#(key)","attestation":"AA==","nonce":"$"}"#)
    registration("a nested member", in: #"{"a":{"$":{"$":"$"}}}"#)
    registration("the device key", in: #"{"device_key_jwk":{"kty":"$","crv":"$"}}"#)
    bytes("a registration of hostile bytes") { register($0) }
    made("a registration of many members", spelled: [.json]) { bytes in
        let body = objectOfMembers(named: Array(bytes.prefix(60)), bytes.count / 80)
        return { register(body) }
    }
}

private let key = "Qata45F7zJKwWd8No2qeQ7flYyZDgFnbl4RpXtx2Ves="
private let jwk =
    #"{"kty":"EC","crv":"P-256","x":"Nmb2VFsi6F1QYz7tC8dF8a3Dm5bqgh9bV18s2SWRCRs","y":"pcfDkJvZ3LxtiS34fanZc3F-9MmHX9LrSkVjVGbD3qA"}"#

private func tokenBody(_ name: String, in body: String) -> HostilePlace {
    json("\(name) of a token's request", in: body) { body in
        do throws(RefusedRequest) {
            let read = try TokenDialectBody(body, maximumBytes: 65_536)
            use(read.wantsTokenType)
            use(read.hasAttestation)
            use(try? read.nonce())
            use(try? read.developmentToken())
            use(try? read.keyID())
            use(try? read.app())
            use(try? read.unattestedApp())
            use(try? read.attestationObject(maximumBytes: 65_536))
            use(try? read.assertionObject(maximumBytes: 65_536))
        } catch {
            use(error.refusal.detail)
        }
    }
}

private let tokenBodies = places {
    tokenBody("a member", in: #"{"device_key_jwk":\#(jwk),"$":"$"}"#)
    tokenBody("the proof", in: #"{"device_key_jwk":\#(jwk),"dpop":"$"}"#)
    tokenBody("token_type", in: #"{"device_key_jwk":\#(jwk),"token_type":"$"}"#)
    tokenBody("nonce", in: #"{"device_key_jwk":\#(jwk),"nonce":"$"}"#)
    tokenBody("dev_token", in: #"{"device_key_jwk":\#(jwk),"dev_token":"$"}"#)
    tokenBody("attestation.type", in: #"{"device_key_jwk":\#(jwk),"attestation":{"type":"$"}}"#)
    tokenBody(
        "attestation.key_id", in: #"{"device_key_jwk":\#(jwk),"attestation":{"type":"app_attest","key_id":"$"}}"#)
    tokenBody(
        "attestation.attestation",
        in: #"{"device_key_jwk":\#(jwk),"attestation":{"type":"app_attest","attestation":"$"}}"#)
    tokenBody(
        "attestation.assertion", in: #"{"device_key_jwk":\#(jwk),"attestation":{"type":"app_attest","assertion":"$"}}"#)
    tokenBody(
        "attestation.team_id",
        in: #"{"device_key_jwk":\#(jwk),"app":{"bundle_id":"a"},"attestation":{"type":"app_attest","team_id":"$"}}"#)
    tokenBody(
        "app.bundle_id",
        in: #"{"device_key_jwk":\#(jwk),"app":{"bundle_id":"$"},"attestation":{"type":"app_attest","team_id":"a"}}"#)
    tokenBody("app.package_name", in: #"{"device_key_jwk":\#(jwk),"app":{"package_name":"$"}}"#)
}

// MARK: Proxies

private let proxies = AddressRange.list("10.0.0.0/8") ?? []

private func named(_ name: String, _ make: @escaping @Sendable (String) -> ForwardedFor) -> HostilePlace {
    prepared(name, spelled: [.field]) { text in
        let forwarded = make(text)
        return { use(forwarded.client(of: IPAddress(ipv4: (10, 0, 0, 1)), trusted: proxies)) }
    }
}

private let forwarded = places {
    named("X-Forwarded-For") { ForwardedFor(xForwardedFor: $0) }
    named("X-Forwarded-For before a proxy's address") { ForwardedFor(xForwardedFor: $0 + ", 10.0.0.2") }
    named("Forwarded") { ForwardedFor(forwarded: $0) }
    named("Forwarded with a name") { ForwardedFor(forwarded: "for=" + $0) }
    named("Forwarded with a quoted name") { ForwardedFor(forwarded: "for=\"" + $0 + "\"") }
    named("Forwarded before a proxy's element") { ForwardedFor(forwarded: $0 + ", for=10.0.0.2") }
}

private func original(_ name: String, _ fields: [String: String], path: String = "", method: String = "GET")
    -> HostilePlace
{
    prepared("\(name) of an original request", spelled: [.field]) { text in
        func filled(_ template: String) -> String {
            template.utf8.contains(UInt8(ascii: "$"))
                ? template.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false).map {
                    String(Substring($0))
                }
                .joined(separator: text) : template
        }
        let values = fields.mapValues(filled)
        let (path, method) = (filled(path), filled(method))
        return { use(try? OriginalRequest(path: path, ownMethod: method) { values[$0].map { [$0] } ?? [] }) }
    }
}

private let originals = places {
    original("the URL", ["x-original-method": "GET", "x-original-url": "$"])
    original("the URL's host", ["x-original-method": "GET", "x-original-url": "https://$"])
    original("the method", ["x-original-method": "$", "x-original-url": "https://a/"])
    original(
        "the forwarded scheme",
        ["x-forwarded-method": "GET", "x-forwarded-uri": "/", "x-forwarded-proto": "$", "x-forwarded-host": "a"])
    original(
        "the forwarded host",
        ["x-forwarded-method": "GET", "x-forwarded-uri": "/", "x-forwarded-proto": "https", "x-forwarded-host": "$"])
    original(
        "the forwarded path",
        ["x-forwarded-method": "GET", "x-forwarded-uri": "$", "x-forwarded-proto": "https", "x-forwarded-host": "a"])
    original("Envoy's path", ["x-forwarded-proto": "https", "host": "a"], path: "/$")
    original("Envoy's method", ["x-forwarded-proto": "https", "host": "a"], path: "/", method: "$")
}

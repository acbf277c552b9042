import DPoP
import FoundationEssentials
import KeyStore
import StrictJSON
import WireText

@testable import Admission

/// The parts of requests that the gate reads, and the operators' lists.
let gateFuzzTargets = [
    FuzzTarget("identifiers") { bytes in
        let text = text(bytes)
        if let id = KeyID(text: text) {
            try require(KeyID(text: id.base64) == id && id.bytes.count == 32, "a key has one identifier")
        }
        if let decoded = Base64.decode(text, maximumBytes: 4_096) {
            let standard = Data(decoded).base64EncodedString()
            let written = text.replacing("-", with: "+").replacing("_", with: "/")
            try require(
                written == standard
                    || written + String(repeating: "=", count: (4 - written.utf8.count % 4) % 4) == standard,
                "bytes have one base64 in each alphabet")
        }
        if let decoded = Hexadecimal.decode(text, count: text.utf8.count / 2) {
            try require(Hexadecimal.encode(decoded) == text.lowercased(), "bytes have one hexadecimal form")
        }
        if let challenge = Challenge(hex: text) {
            try require(challenge.bytes.count == Challenge.byteCount, "a challenge has 32 bytes")
        }
    },
    FuzzTarget("signed-request") { bytes in
        let text = text(bytes)
        if let data = try? SignedClientData(text) {
            let object = try JSONReader.readObject(Array(text.utf8), maximumBytes: SignedClientData.maximumBytes)
            try require(object.members.count == (data.isOfBody ? 1 : 4), "there is nothing between the recipes")
            try require(object["challenge"]?.string?.utf8.elementsEqual(data.challenge.utf8) == true, "one challenge")
        }
        if let digest = ContentDigest(text) { try require(digest.text == text, "a digest has one form") }
        // Every field is the text, or pieces of it.
        for count in [1, 7, max(1, bytes.count)] {
            let values = pieces(of: bytes[...], count).prefix(2).map { String(decoding: $0, as: UTF8.self) }
            let fields = SignedFields { _ in Array(values) }
            try require((try? PresentedSignature(fields, maximumAssertionBytes: 4_096)) == nil, "no text is all fields")
        }
    },
    FuzzTarget("ticket") { bytes in
        let office = TicketOffice()
        let time = MonotonicTime(nanoseconds: 0)
        guard case .issued(let issued) = office.issueForOperator(timeToLive: .seconds(9), uses: 1, at: time) else {
            throw FuzzViolation(description: "the first ticket is given")
        }
        guard case .unknown = office.spend(text(bytes), at: time) else {
            throw FuzzViolation(description: "nobody has a ticket of ours")
        }
        guard case .spent = office.spend(issued.ticket.text, at: time) else {
            throw FuzzViolation(description: "a ticket stays good whatever else is shown")
        }
        let zeros = [UInt8](repeating: 0, count: 32)
        try require(
            (SessionToken.digest(of: text(bytes)) == zeros) == (text(bytes).utf8.count != SessionToken.characterCount),
            "what isn't of a token's length is hashed to nothing")
    },
    FuzzTarget("registration") { bytes in
        guard let body = try? JSONReader.readObject(bytes, maximumBytes: 2_048),
            case .success(let request) = RegistrationRequest.read(body, maximumBytes: 2_048)
        else { return }
        try require(
            bytes.count <= 2_048 && request.attestation.count < bytes.count && !request.nonce.isEmpty,
            "a request is no larger than its body")
    },
    FuzzTarget("original-request") { bytes in
        // The first line is the path after the prefix, every further one a field.
        let lines = text(bytes).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let fields = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            line.firstIndex(of: ":").map { (String(line[..<$0]), String(line[$0...].dropFirst())) }
        }
        func read(_ fields: [(name: String, value: String)]) -> OriginalRequest? {
            try? OriginalRequest(path: lines.first ?? "", ownMethod: "GET") { name in
                fields.filter { $0.name == name }.map(\.value)
            }
        }
        guard let request = read(fields) else { return }
        try require(
            request.url.hasPrefix("https://") || request.url.hasPrefix("http://"), "a URL is absolute")
        try require(
            request.url.utf8.count <= OriginalRequest.maximumURLBytes
                && request.method.utf8.count <= OriginalRequest.maximumMethodBytes,
            "a request is within its limits")
        try require(
            (request.method + request.url).utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a request is visible ASCII")
        for name in ["x-original-url", "x-original-method", "x-forwarded-uri", "x-forwarded-method"] {
            let changed = read(fields + [(name, "GET")])
            try require(changed == nil, "no field that a client adds changes what is read")
        }
    },
    FuzzTarget("token-body") { bytes in
        guard let body = try? TokenDialectBody(bytes, maximumBytes: 2_048) else { return }
        try require(bytes.count <= 2_048, "a body above the limit isn't read")
        let assertion = (try? body.assertionObject(maximumBytes: 1_024)) ?? []
        let token = (try? body.developmentToken()) ?? ""
        try require(
            assertion.count <= 1_024 && token.utf8.count <= TokenDialectBody.maximumDevelopmentTokenBytes,
            "what is read is within its limits")
        let app = (try? body.unattestedApp()) ?? ""
        try require(
            app.utf8.count <= TokenDialectBody.maximumAppBytes && !app.utf8.contains { $0 < 0x21 || $0 > 0x7E },
            "the name of an app can be logged")
        let dialect = (try? JSONReader.readObject(bytes, maximumBytes: 2_048)).map { RegistrationDialect(of: $0) }
        try require(dialect != .guide, "a body of this dialect isn't taken for the other's")
    },
    FuzzTarget("block-list") { bytes in
        let text = text(bytes)
        let kinds = [AppAttestMethod.blockListKind, ClientCertificateMethod.blockListKind]
        guard let list = try? BlockList(text, kinds: kinds) else { return }
        try require((try? BlockList(text + "\n# the end", kinds: kinds)) == list, "a comment changes nothing")
        try require((try? BlockList(text + "\nnothing", kinds: kinds)) == nil, "an entry that isn't one is refused")
    },
    FuzzTarget("shared-secrets") { bytes in
        let text = text(bytes)
        guard let secrets = try? SharedSecrets(text) else { return }
        try require(
            (1...SharedSecrets.maximumCount).contains(secrets.names.count)
                && Set(secrets.names).count == secrets.names.count,
            "there is a secret, and no name twice")
        try require(secrets.secret(shownAs: text) == nil, "the file isn't the secret")
    },
]

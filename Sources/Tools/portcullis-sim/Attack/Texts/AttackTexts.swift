import DeviceSimulation
import Foundation

/// Requests and messages with the text that takes longest to normalise (Unicode Standard Annex 15), in every place
/// where a peer's text comes in: code that compares, hashes or splits it as `String` takes seconds for 64 KB.
enum AttackTexts: String, CaseIterable, Sendable {
    /// 64 KB in members and values of JSON.
    case bodies
    /// 8 KB in header fields and in the query.
    case fields
    /// 64 KB in a message of an admitted client.
    case messages

    /// Equal runs of marks in descending combining classes: sorting them by insertion moves each past all marks of the
    /// runs before.
    static func marks(_ bytes: Int) -> String {
        let marks = "\u{345}\u{360}\u{35C}\u{315}\u{300}\u{316}\u{31B}\u{321}\u{334}".unicodeScalars
        return marks.map { String(repeating: String($0), count: bytes / (2 * marks.count)) }.joined()
    }

    /// What one connection after another sends: of requests, all on one connection as long as it stays.
    func packets(to authority: String, ticket: String?) throws -> [Packet] {
        switch self {
        case .bodies: try Self.bodies(authority)
        case .fields: Self.fields(authority)
        case .messages: Self.messages(authority, ticket)
        }
    }

    struct Packet: Sendable {
        /// An upgrade that must be admitted first.
        var upgrade: [UInt8]?
        /// A request, or frames.
        var bytes: [UInt8]
    }
}

// MARK: What strangers send

extension AttackTexts {
    private static let bodyBytes = 65_000
    private static let fieldBytes = 7_900

    private static func bodies(_ authority: String) throws -> [Packet] {
        let text = marks(bodyBytes)
        let key = #""device_key_jwk":\#(String(decoding: SimulatedProofKey().jwk.canonicalJSON, as: UTF8.self))"#
        let type = #"{\#(key),"attestation":{"type":"\#(marks(bodyBytes - 512))"}}"#
        let proof = try SimulatedProofKey().sign(
            SimulatedProof(
                method: "POST", url: "https://\(authority)/" + marks(4_500), time: .now, id: UUID().uuidString))
        return [
            post("/attest/register", #"{"\#(text)":1}"#, authority),
            post("/attest/register", #"{"keyId":"\#(text)","attestation":"a","nonce":"a"}"#, authority),
            post("/attest/register", type, authority),
            post("/attest/register", type, authority, ["DPoP: a"]),
            post("/attest/challenge", #"{"purpose":"\#(marks(8_000))"}"#, authority),
            post("/token", type, authority, ["DPoP: a"]),
            post("/token", #"{\#(key),"dev_token":"a"}"#, authority, ["DPoP: \(proof)"]),
        ]
    }

    private static func fields(_ authority: String) -> [Packet] {
        let text = marks(fieldBytes)
        let long = "Authorization: \(marks(fieldBytes))"
        let upgrades = [
            [long], [long, long], ["Authorization: \(text) a"], ["DPoP: \(text)"], ["Sec-WebSocket-Protocol: \(text)"],
            ["Origin: \(text)"], ["X-App-Assert-KeyId: \(text)"], ["X-App-Assert-Nonce: \(text)"],
        ]
        let escaped = marks(2_600).utf8.map { "%" + String($0, radix: 16) }.joined()
        return upgrades.map { upgrade("/", authority, $0) } + [
            upgrade("/", authority, [], version: text), upgrade("/?dialect=\(escaped)", authority, []),
            upgrade("/?target=\(escaped)", authority, []), upgrade("/mud/\(escaped)", authority, []),
        ]
    }

    private static func post(_ path: String, _ body: String, _ authority: String, _ fields: [String] = []) -> Packet {
        let lines = ["POST \(path) HTTP/1.1", "Host: \(authority)"] + fields + ["Content-Length: \(body.utf8.count)"]
        return Packet(bytes: Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8))
    }

    private static func upgrade(
        _ target: String, _ authority: String, _ fields: [String], version: String = "13"
    ) -> Packet {
        let lines =
            [
                "GET \(target) HTTP/1.1", "Host: \(authority)", "Connection: Upgrade", "Upgrade: websocket",
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: \(version)",
            ] + fields
        return Packet(bytes: Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
    }
}

// MARK: What admitted clients send

extension AttackTexts {
    private static func messages(_ authority: String, _ ticket: String?) -> [Packet] {
        let text = marks(bodyBytes)
        let inDialects = [
            ("typed", #"{"type":"\#(text)"}"#), ("typed", #"{"type":"connect","target":"\#(text)"}"#),
            ("typed", #"{"\#(text)":1,"type":"input","text":"a"}"#), ("json", #"{"proto":"\#(text)","data":""}"#),
            ("json", #"{"proto":"gmcp","id":"\#(text)"}"#), ("gmcp", "A.B {\"\(text)\":1}"), ("gmcp", text + " 1"),
            ("legacy", #"{"connect":"1","mud":"\#(text)"}"#),
        ]
        return inDialects.map { dialect, message in
            let admission = ticket.map { "&ticket=\($0)" } ?? ""
            let request = upgrade("/?dialect=\(dialect)\(admission)", authority, [])
            return Packet(upgrade: request.bytes, bytes: frame(Array(message.utf8)))
        }
    }

    /// A text message of up to 64 KB, masked with 0 (RFC 6455 §5.2).
    private static func frame(_ payload: [UInt8]) -> [UInt8] {
        [0x81, 0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF), 0, 0, 0, 0] + payload
    }
}

import Admission
import HTTPWire
import Reactors
import WireText

/// The client, time and id of a request. The same id is in the answer, the log and the audit log.
struct RequestContext: Sendable {
    let id: String
    let address: IPAddress
    let moment: Moment
    /// A trusted proxy reported the address, so the client's port isn't known.
    let isForwarded: Bool
}

extension RequestContext {
    /// - Parameters:
    ///   - client: as `EdgeRouter.limit` has determined it.
    ///   - id: of another gateway that has passed the request on; nil makes one.
    init(client: IPAddress, peer: SocketAddress, reactor: Reactor, id: String? = nil) {
        self.id = id ?? Self.makeID()
        address = client
        isForwarded = client != peer.address
        moment = reactor.moment
    }

    /// 64 random bits in hexadecimal: unique enough to find a line, and unguessable for other clients.
    static func makeID() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension RequestHead {
    /// All fields of a name, joined with commas in their order (RFC 9110 §5.3); nil where there is none.
    func text(_ name: String) -> String? {
        let values = fields.all(name)
        return values.isEmpty ? nil : values.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ")
    }

    /// The values of all fields of a name, in their order.
    func texts(_ name: String) -> [String] { fields.all(name).map { String(decoding: $0, as: UTF8.self) } }

    /// The same as `text`, but nil for an empty value.
    func nonEmptyText(_ name: String) -> String? { text(name).flatMap { $0.isEmpty ? nil : $0 } }

    /// The first of these fields that is repeated although it must not be: servers differ in which of two values they
    /// use.
    func firstRepeated(_ names: [String]) -> String? { names.first { fields.count($0) > 1 } }

    /// A field with credentials or the client's address that the request repeats.
    func repeatedCredentialField(_ gate: Gate) -> String? {
        firstRepeated(["authorization", "origin"]) ?? firstRepeated(gate.fields.single)
    }
}

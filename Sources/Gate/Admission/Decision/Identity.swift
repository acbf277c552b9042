import Crypto
import FoundationEssentials
import WireText

/// A client's identity: the method that verified it, and its name among that method's clients. Sessions, tickets,
/// lists, logs and the PROXY header use it unchanged.
package struct Identity: Hashable, Sendable {
    package let method: MethodName
    /// Not secret. `nil` for clients without credentials: their sessions belong to any client that presents the token,
    /// and are counted by address.
    package let subject: String?

    /// - Parameter subject: its one canonical form.
    package init(method: MethodName, subject: String) {
        self.method = method
        self.subject = subject
    }

    private init(anonymous method: MethodName) {
        self.method = method
        subject = nil
    }

    package static let anonymous = Identity(anonymous: AnonymousMethod.name)

    package var isAnonymous: Bool { subject == nil }

    /// 32 bytes for every method, for comparing identities in constant time, and for naming clients in a shared store.
    package var mark: [UInt8] { Self.mark(method: method.label, subject: subject) }

    /// As ``mark``, of those among many holders who come from one network.
    func mark(at network: AddressPrefix) -> [UInt8] {
        Self.mark(method: method.label, subject: "\(subject ?? "") \(network.text)")
    }

    static func mark(method label: String, subject: String?) -> [UInt8] {
        Array(SHA256.hash(data: Array(label.utf8) + [0] + Array((subject ?? "").utf8)))
    }
}

import Crypto
import FoundationEssentials

/// Who a client is: the method that has verified it, and its name among the clients of that method. Sessions, tickets, lists, logs and the
/// PROXY header go by it as it is.
package struct Identity: Hashable, Sendable {
    package let method: MethodName
    /// Not secret. `nil` for clients without credentials: their sessions belong to whichever client has the token, and count by address.
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

    /// 32 bytes, whatever the method: what identities are compared by where the time that takes must tell nothing.
    var mark: [UInt8] {
        Array(SHA256.hash(data: Array(method.label.utf8) + [0] + Array((subject ?? "").utf8)))
    }
}

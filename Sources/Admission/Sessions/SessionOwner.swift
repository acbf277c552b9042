import Crypto
import FoundationEssentials
package import KeyStore

/// Whose a session is: the identity that the gate verified. A session is resumed by its owner alone, and its places count by it.
package enum SessionOwner: Hashable, Sendable {
    case key(KeyID)
    /// SHA-256 of the certificate's DER encoding.
    case certificate(sha256: [UInt8])
    case operatorTicket(TicketID)
    /// Nobody in particular: such sessions belong to whoever has their token, and count by address alone.
    case anonymous

    package init(_ principal: Principal) {
        self =
            switch principal.way {
            case .appAttest(let key, _): .key(key)
            case .debugCertificate(let sha256, _): .certificate(sha256: sha256)
            case .operatorTicket(let ticket): .operatorTicket(ticket)
            case .anonymous: .anonymous
            }
    }

    package var isAnonymous: Bool { self == .anonymous }

    /// 32 bytes, of owners of any kind: what owners are compared by where the time that it takes must tell nothing.
    var mark: [UInt8] {
        let name: (kind: UInt8, bytes: [UInt8]) =
            switch self {
            case .key(let id): (1, id.bytes)
            case .certificate(let sha256): (2, sha256)
            case .operatorTicket(let ticket): (3, Array(ticket.text.utf8))
            case .anonymous: (0, [])
            }
        return Array(SHA256.hash(data: [name.kind] + name.bytes))
    }
}

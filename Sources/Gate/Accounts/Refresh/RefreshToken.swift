import Admission
import Crypto
import KeyStore
import WireText

/// A refresh token: its family's name, and 32 random bytes. Secret.
///
/// ```
/// byte  0               16                              48
///       ┌───────────────┬───────────────────────────────┐
///       │ family        │ random                        │   base64url, 64 characters
///       └───────────────┴───────────────────────────────┘
/// ```
struct RefreshToken: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    private static let randomBytes = 32
    private static let sealing = "portcullis refresh successor"

    let family: RefreshFamilyID
    private let random: [UInt8]

    /// The first one of a new family.
    init() {
        guard let family = RefreshFamilyID(bytes: RandomBytes.make(RefreshFamilyID.length)) else {
            preconditionFailure("A name has \(RefreshFamilyID.length) bytes.")
        }
        self.init(of: family)
    }

    /// A further one of a family.
    init(of family: RefreshFamilyID) { (self.family, random) = (family, RandomBytes.make(Self.randomBytes)) }

    /// - Returns: nil for what no gateway issues.
    init?(text: String) {
        guard let bytes = Base64URL.decode(text), bytes.count == RefreshFamilyID.length + Self.randomBytes,
            let family = RefreshFamilyID(bytes: Array(bytes.prefix(RefreshFamilyID.length)))
        else { return nil }
        (self.family, random) = (family, Array(bytes.dropFirst(RefreshFamilyID.length)))
    }

    var text: String { Base64URL.encode(family.bytes + random) }

    /// By which a store knows it.
    var hash: [UInt8] { Array(SHA256.hash(data: family.bytes + random)) }

    /// The successor, for whoever has this token.
    func seal(_ successor: RefreshToken) -> [UInt8] {
        guard let box = try? AES.GCM.seal(successor.random, using: key, authenticating: family.bytes),
            let sealed = box.combined
        else { preconditionFailure("AES-GCM seals 32 bytes.") }
        return Array(sealed)
    }

    /// - Returns: nil for what this token hasn't sealed.
    func open(_ sealed: [UInt8]) -> RefreshToken? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let random = try? AES.GCM.open(box, using: key, authenticating: family.bytes)
        else { return nil }
        return RefreshToken(text: Base64URL.encode(family.bytes + Array(random)))
    }

    private var key: SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: random), salt: family.bytes, info: Array(Self.sealing.utf8),
            outputByteCount: 32)
    }

    var description: String { "(refresh token of \(family))" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

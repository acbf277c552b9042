package import Crypto
package import CryptoExtras
import FoundationEssentials
package import X509

/// The private key of a simulated passkey.
package enum SimulatedPasskeyKey: Sendable {
    case es256(P256.Signing.PrivateKey)
    case es384(P384.Signing.PrivateKey)
    case edDSA(Curve25519.Signing.PrivateKey)
    case rs256(_RSA.Signing.PrivateKey)

    package static func es256() -> Self { .es256(P256.Signing.PrivateKey()) }
    package static func es384() -> Self { .es384(P384.Signing.PrivateKey()) }
    package static func edDSA() -> Self { .edDSA(Curve25519.Signing.PrivateKey()) }
    package static func rs256(bits: Int = 2_048) throws -> Self {
        .rs256(try _RSA.Signing.PrivateKey(keySize: .init(bitCount: bits)))
    }

    /// The COSE algorithm.
    package var algorithm: Int64 {
        switch self {
        case .es256: -7
        case .es384: -35
        case .edDSA: -8
        case .rs256: -257
        }
    }

    /// The signature of section 6.5.5 of Web Authentication Level 3.
    package func sign(_ message: [UInt8]) throws -> [UInt8] {
        switch self {
        case .es256(let key): Array(try key.signature(for: SHA256.hash(data: message)).derRepresentation)
        case .es384(let key): Array(try key.signature(for: SHA384.hash(data: message)).derRepresentation)
        case .edDSA(let key): Array(try key.signature(for: message))
        case .rs256(let key):
            Array(try key.signature(for: SHA256.hash(data: message), padding: .insecurePKCS1v1_5).rawRepresentation)
        }
    }

    /// The entries of its COSE_Key, in CTAP2's canonical order.
    package var coseEntries: [(CBORItem, CBORItem)] {
        get throws {
            switch self {
            case .es256(let key): Self.point(key.publicKey.rawRepresentation, algorithm, curve: 1)
            case .es384(let key): Self.point(key.publicKey.rawRepresentation, algorithm, curve: 2)
            case .edDSA(let key):
                [
                    (.integer(1), .integer(1)), (.integer(3), .integer(algorithm)), (.integer(-1), .integer(6)),
                    (.integer(-2), .bytes(Array(key.publicKey.rawRepresentation))),
                ]
            case .rs256(let key): Self.rsa(try key.publicKey.getKeyPrimitives(), algorithm)
            }
        }
    }

    private static func point(_ raw: Data, _ algorithm: Int64, curve: Int64) -> [(CBORItem, CBORItem)] {
        let coordinates = Array(raw)
        let half = coordinates.count / 2
        return [
            (.integer(1), .integer(2)), (.integer(3), .integer(algorithm)), (.integer(-1), .integer(curve)),
            (.integer(-2), .bytes(Array(coordinates[..<half]))), (.integer(-3), .bytes(Array(coordinates[half...]))),
        ]
    }

    private static func rsa(
        _ numbers: _RSA.Signing.PublicKey.Primitives, _ algorithm: Int64
    ) -> [(CBORItem, CBORItem)] {
        [
            (.integer(1), .integer(3)), (.integer(3), .integer(algorithm)),
            (.integer(-1), .bytes(Array(numbers.modulus))), (.integer(-2), .bytes(Array(numbers.publicExponent))),
        ]
    }

    /// Its public key, as a certificate has it.
    package var certificateKey: Certificate.PublicKey {
        switch self {
        case .es256(let key): Certificate.PublicKey(key.publicKey)
        case .es384(let key): Certificate.PublicKey(key.publicKey)
        case .edDSA(let key): Certificate.PublicKey(key.publicKey)
        case .rs256(let key): Certificate.PublicKey(key.publicKey)
        }
    }
}

extension CBORItem {
    package static func integer(_ number: Int64) -> CBORItem {
        number < 0 ? .negative(UInt64(-1 - number)) : .unsigned(UInt64(number))
    }
}

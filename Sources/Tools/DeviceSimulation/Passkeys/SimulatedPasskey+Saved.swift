import Crypto
import CryptoExtras
import FoundationEssentials
import SwiftASN1
import X509

/// Keeps a passkey between runs of a tool.
extension SimulatedPasskey {
    /// With its private key: for files of a test or a demonstration.
    package struct Saved: Codable, Sendable {
        /// The COSE algorithm.
        let algorithm: Int64
        let key, credentialID, aaguid: Data
        let signCount: UInt32
        let countsSignatures: Bool
        let flags: UInt8
    }

    package var saved: Saved {
        Saved(
            algorithm: key.algorithm, key: key.privateBytes, credentialID: Data(credentialID), aaguid: Data(aaguid),
            signCount: signCount, countsSignatures: countsSignatures, flags: flags)
    }

    package init(restoring saved: Saved) throws {
        key = try SimulatedPasskeyKey(saved.algorithm, saved.key)
        (credentialID, aaguid) = (Array(saved.credentialID), Array(saved.aaguid))
        (signCount, countsSignatures, flags) = (saved.signCount, saved.countsSignatures, saved.flags)
    }
}

/// There is no such key.
package struct UnknownPasskeyKey: Error {}

extension SimulatedPasskeyKey {
    /// A new key.
    ///
    /// - Parameter algorithm: of COSE.
    package init(algorithm: Int64) throws {
        switch algorithm {
        case -7: self = .es256()
        case -8: self = .edDSA()
        case -35: self = .es384()
        case -257: self = try .rs256()
        default: throw UnknownPasskeyKey()
        }
    }

    fileprivate var privateBytes: Data {
        switch self {
        case .es256(let key): key.rawRepresentation
        case .es384(let key): key.rawRepresentation
        case .edDSA(let key): key.rawRepresentation
        case .rs256(let key): key.derRepresentation
        }
    }

    fileprivate init(_ algorithm: Int64, _ bytes: Data) throws {
        switch algorithm {
        case -7: self = .es256(try P256.Signing.PrivateKey(rawRepresentation: bytes))
        case -8: self = .edDSA(try Curve25519.Signing.PrivateKey(rawRepresentation: bytes))
        case -35: self = .es384(try P384.Signing.PrivateKey(rawRepresentation: bytes))
        case -257: self = .rs256(try _RSA.Signing.PrivateKey(derRepresentation: bytes))
        default: throw UnknownPasskeyKey()
        }
    }
}

extension SimulatedVendor {
    /// The root as other programs read it.
    package var rootPEM: String {
        get throws { try root.serializeAsPEM().pemString + "\n" }
    }
}

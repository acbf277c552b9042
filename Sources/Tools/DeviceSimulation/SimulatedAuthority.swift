package import AppAttest
import Crypto
package import FoundationEssentials
import SwiftASN1
package import X509

/// A replacement for Apple's App Attestation CA: a root and an intermediate on P-384 with names, extensions and
/// lifetimes like Apple's, and its own keys. A gateway configured to trust its root accepts simulated devices as real
/// ones. For tests and demonstrations.
package struct SimulatedAuthority: Sendable {
    /// The names of the certificates. The defaults are Apple's own names with "Simulated" added.
    package struct Names: Hashable, Sendable, Codable {
        package var root: String
        package var intermediate: String

        package init(
            root: String = "Simulated App Attestation Root CA", intermediate: String = "Simulated App Attestation CA 1"
        ) {
            self.root = root
            self.intermediate = intermediate
        }
    }

    let names: Names
    let rootKey: P384.Signing.PrivateKey
    let intermediateKey: P384.Signing.PrivateKey
    package let root: Certificate
    package let intermediate: Certificate

    static let day: TimeInterval = 24 * 60 * 60
    private static let rootLifetime = 25 * 365 * day
    static let intermediateLifetime = 10 * 365 * day

    /// Makes new keys, and certificates that are valid from a day before `time`.
    package init(at time: Date, names: Names = Names()) throws {
        self.names = names
        rootKey = P384.Signing.PrivateKey()
        intermediateKey = P384.Signing.PrivateKey()
        root = try Self.root(names, key: rootKey, at: time)
        intermediate = try CertificatePlan.intermediate(names, key: intermediateKey.publicKey, at: time)
            .issue(by: rootKey)
    }

    /// The root as a gateway reads it.
    package var rootPEM: String {
        get throws { try root.serializeAsPEM().pemString + "\n" }
    }

    package var trustRoot: TrustRoot { TrustRoot(certificate: root) }

    private static func root(_ names: Names, key: P384.Signing.PrivateKey, at time: Date) throws -> Certificate {
        var plan = CertificatePlan.intermediate(names, key: key.publicKey, at: time)
        plan.subject = names.root
        plan.notAfter = time + rootLifetime
        plan.constraints = .isCertificateAuthority(maxPathLength: nil)
        return try plan.issue(by: key)
    }
}

// Saves an authority between runs of a tool.
extension SimulatedAuthority {
    /// The whole authority, including private keys: for files of a test or a demonstration.
    package struct Saved: Codable, Sendable {
        var names: Names
        var rootKey, intermediateKey: Data
        var root, intermediate: Data
    }

    package var saved: Saved {
        get throws {
            Saved(
                names: names, rootKey: rootKey.rawRepresentation, intermediateKey: intermediateKey.rawRepresentation,
                root: Data(try root.derBytes), intermediate: Data(try intermediate.derBytes))
        }
    }

    package init(restoring saved: Saved) throws {
        names = saved.names
        rootKey = try P384.Signing.PrivateKey(rawRepresentation: saved.rootKey)
        intermediateKey = try P384.Signing.PrivateKey(rawRepresentation: saved.intermediateKey)
        root = try Certificate(derEncoded: Array(saved.root))
        intermediate = try Certificate(derEncoded: Array(saved.intermediate))
    }
}

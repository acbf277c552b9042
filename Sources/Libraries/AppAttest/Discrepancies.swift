import Crypto
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What a refused object had to contain, and what it contains: texts for whoever looks for the mistake.
///
/// They are made from the object again, after the verifier has refused it, and decide nothing. `received` is what the
/// sender wrote: nobody vouches for it. No text contains a signature, a nonce or a key.
package typealias Discrepancy = (expected: String, received: String)

extension AttestationVerifier {
    /// - Parameters:
    ///   - error: the reason for which `attestation` was refused.
    ///   - claimed: the app that the sender names beside it, if any.
    /// - Returns: nil where the error alone says everything.
    package func discrepancy(
        _ error: AttestationError, in attestation: [UInt8], keyID: [UInt8], claimed: AppID? = nil, at time: Date
    ) -> Discrepancy? {
        guard let object = try? AttestationObject(attestation) else { return ofForm(error) }
        let data = try? AuthenticatorData(attestation: object.authenticatorData)
        switch error {
        case .rpIDHashMismatch:
            return data.map { AppIDHash($0.rpIDHash).discrepancy(among: policy.apps, claimed: claimed) }
        case .counterNotZero(let counter): return ("counter 0, of a key that has signed nothing", "counter \(counter)")
        case .unknownEnvironment, .environmentNotAllowed:
            return data?.credential.map { (environmentNames, Self.environmentName($0.aaguid)) }
        case .keyIDMismatch: return ofKeyID(keyID, object)
        case .validationCategoryMissing, .validationCategoryNotAllowed:
            return ofCategory(data?.extensions.validationCategory, among: policy.validationCategories)
        default: return ofChain(error, object, at: time)
        }
    }

    private func ofForm(_ error: AttestationError) -> Discrepancy? {
        switch error {
        case .certificateCount(let count): ("two certificates in x5c: leaf and intermediate", "\(count)")
        case .unknownFormat: ("fmt \(AttestationObject.format)", "another one")
        default: nil
        }
    }

    private func ofKeyID(_ keyID: [UInt8], _ object: AttestationObject) -> Discrepancy? {
        guard let leaf = try? Certificate(derEncoded: object.leaf), let key = P256.Signing.PublicKey(leaf.publicKey)
        else { return nil }
        let hash = Data(SHA256.hash(data: key.x963Representation))
        return ("key identifier \(hash.base64EncodedString())", Data(keyID).base64EncodedString())
    }

    private var environmentNames: String {
        let names = AttestationEnvironment.allCases.filter(policy.environments.contains).map(\.rawValue)
        return "a key of the environment \(names.joined(separator: " or "))"
    }

    private static func environmentName(_ aaguid: [UInt8]) -> String {
        guard let environment = AttestationEnvironment(aaguid: aaguid) else {
            return "the unknown aaguid \(hexadecimal(aaguid))"
        }
        return environment == .production ? "production" : "\(environment.rawValue): a build that was run from Xcode"
    }
}

// The chain of certificates.
extension AttestationVerifier {
    private func ofChain(_ error: AttestationError, _ object: AttestationObject, at time: Date) -> Discrepancy? {
        switch error {
        case .certificateExpired(let position), .certificateNotYetValid(let position):
            guard let certificate = certificate(at: position, of: object) else { return nil }
            return (
                "a \(position) that is valid at \(time.formatted(.iso8601))",
                "one that is valid from \(certificate.notValidBefore.formatted(.iso8601))"
                    + " to \(certificate.notValidAfter.formatted(.iso8601))"
            )
        case .untrustedChain, .unknownCriticalExtension, .intermediateNotCertificateAuthority,
            .intermediateKeyNotECDSA, .leafIsCertificateAuthority:
            guard let intermediate = certificate(at: .intermediate, of: object) else { return nil }
            let hash = hexadecimal(Array(SHA256.hash(data: object.intermediate)))
            return (
                "a chain to the root SHA-256 \(hexadecimal(trustRoot.fingerprint)), \(trustRoot.certificate.subject)",
                "an intermediate SHA-256 \(hash), issued by \(intermediate.issuer)"
            )
        default: return nil
        }
    }

    private func certificate(at position: ChainPosition, of object: AttestationObject) -> Certificate? {
        switch position {
        case .leaf: try? Certificate(derEncoded: object.leaf)
        case .intermediate: try? Certificate(derEncoded: object.intermediate)
        case .root: trustRoot.certificate
        }
    }
}

extension AssertionVerifier {
    /// - Parameters:
    ///   - error: the reason for which `assertion` was refused.
    ///   - app: the app that the key was attested for.
    ///   - others: further apps whose hash is recognised.
    /// - Returns: nil where the error alone says everything.
    package func discrepancy(
        _ error: AssertionError, in assertion: [UInt8], app: AppID, others: [AppID] = []
    ) -> Discrepancy? {
        if case .counterNotHigher(let received, let previous) = error {
            return ("a counter above \(previous), the last one", "\(received)")
        }
        guard let object = try? AssertionObject(assertion),
            let data = try? AuthenticatorData(assertion: object.authenticatorData)
        else { return nil }
        return switch error {
        case .rpIDHashMismatch: AppIDHash(data.rpIDHash).discrepancy(among: [app], recognising: others)
        case .validationCategoryMissing, .validationCategoryNotAllowed:
            ofCategory(data.extensions.validationCategory, among: validationCategories)
        default: nil
        }
    }
}

private func ofCategory(_ received: UInt32?, among allowed: Set<UInt32>?) -> Discrepancy? {
    let names = (allowed ?? []).sorted().map(String.init).joined(separator: " or ")
    return ("validation category \(names)", received.map(String.init) ?? "none: a system before iOS 27")
}

private func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// In which part an attested app isn't one of the accepted ones, as far as its hash tells.
package enum AppIDPart: Sendable, CaseIterable {
    /// The team is accepted.
    case bundle
    /// The bundle identifier is accepted.
    case team
    /// It is an accepted bundle identifier without a team.
    case prefix
    case both
    /// It isn't the app that the sender names, nor made of accepted parts.
    case unknown
}

extension AttestationVerifier {
    /// - Parameters:
    ///   - attestation: refused with ``AttestationError/rpIDHashMismatch``.
    ///   - claimed: the app that the sender names beside it, if any.
    package func mismatchingPart(of attestation: [UInt8], claimed: AppID?) -> AppIDPart {
        guard let object = try? AttestationObject(attestation),
            let data = try? AuthenticatorData(attestation: object.authenticatorData)
        else { return .unknown }
        return AppIDHash(data.rpIDHash).mismatchingPart(among: policy.apps, claimed: claimed)
    }
}

/// The hash of an App ID, and the attempt to find out which App ID it is of.
private struct AppIDHash {
    /// Teams and bundles that are combined: an operator may have configured hundreds of apps.
    private static let maximumCombined = 16

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func discrepancy(among apps: [AppID], claimed: AppID? = nil, recognising others: [AppID] = []) -> Discrepancy {
        let more = apps.count > 1 ? ", or of \(apps.count - 1) more" : ""
        let expected = "the rpIdHash of \(apps.first?.description ?? "no app: none is configured")\(more)"
        let name = name(among: apps + others + (claimed.map { [$0] } ?? []))
        return (expected, "\(hexadecimal(bytes)), which is that of \(name ?? "none of these, nor of their teams")")
    }

    func mismatchingPart(among apps: [AppID], claimed: AppID?) -> AppIDPart {
        let few = apps.prefix(Self.maximumCombined)
        if bare(of: few) != nil { return .prefix }
        guard let claimed, claimed.rpIDHash == bytes else { return combination(of: few) == nil ? .unknown : .bundle }
        if apps.contains(where: { $0.teamID.utf8.elementsEqual(claimed.teamID.utf8) }) { return .bundle }
        return apps.contains { $0.bundleID.utf8.elementsEqual(claimed.bundleID.utf8) } ? .team : .both
    }

    /// Another bundle of a known team, another team with a known bundle, or a bundle without its team.
    private func name(among apps: [AppID]) -> String? {
        if let app = apps.first(where: { $0.rpIDHash == bytes }) { return app.description }
        let few = apps.prefix(Self.maximumCombined)
        return combination(of: few)?.description ?? bare(of: few).map { "\($0.bundleID) without a team" }
    }

    private func combination(of apps: ArraySlice<AppID>) -> AppID? {
        for team in Set(apps.map(\.teamID)) {
            for bundle in Set(apps.map(\.bundleID)) {
                if let app = AppID(teamID: team, bundleID: bundle), app.rpIDHash == bytes { return app }
            }
        }
        return nil
    }

    private func bare(of apps: ArraySlice<AppID>) -> AppID? {
        apps.first { Array(SHA256.hash(data: Array($0.bundleID.utf8))) == bytes }
    }
}

public import Foundation

/// App Attest, as an app sees it. On Apple's systems this is `DCAppAttestService`.
///
/// Its calls may take as long as they like: the library stops waiting after 30 seconds each.
public protocol AppAttestService: Sendable {
    /// False in simulators.
    var isSupported: Bool { get }

    /// Makes a key in the Secure Enclave.
    ///
    /// - Returns: its identifier, base64 of 32 bytes.
    /// - Throws: ``AppAttestFailure``
    func generateKey() async throws -> String

    /// Has Apple attest a key. A key can be attested once.
    ///
    /// - Throws: ``AppAttestFailure``
    func attestKey(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data

    /// Signs with a key.
    ///
    /// - Throws: ``AppAttestFailure``
    func generateAssertion(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data
}

/// Where App Attest doesn't exist: simulators, and Linux.
public struct NoAppAttest: AppAttestService {
    public init() {}

    public var isSupported: Bool { false }

    public func generateKey() async throws -> String { throw AppAttestFailure.unsupported }

    public func attestKey(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data {
        throw AppAttestFailure.unsupported
    }

    public func generateAssertion(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data {
        throw AppAttestFailure.unsupported
    }
}

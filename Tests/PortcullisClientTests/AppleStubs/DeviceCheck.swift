// Stand-in for Apple's module: the signatures of its public interface that the library uses.
import Foundation

public final class DCAppAttestService: Sendable {
    public static let shared = DCAppAttestService()

    public var isSupported: Bool { false }

    public func generateKey() async throws -> String { throw DCError(.featureUnsupported) }

    public func attestKey(_ keyId: String, clientDataHash: Data) async throws -> Data {
        throw DCError(.featureUnsupported)
    }

    public func generateAssertion(_ keyId: String, clientDataHash: Data) async throws -> Data {
        throw DCError(.featureUnsupported)
    }
}

public struct DCError: Error {
    public enum Code: Int, Sendable {
        case unknownSystemFailure = 0
        case featureUnsupported, invalidInput, invalidKey, serverUnavailable
    }

    public static var errorDomain: String { "com.apple.devicecheck.error" }

    public let code: Code

    init(_ code: Code) { self.code = code }
}

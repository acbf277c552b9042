import Foundation

/// What an account begins with, where the gate wants a proof (`ACCOUNT_SIGN_UP=proven`).
public enum AccountProof: Sendable {
    /// This device: with a fresh assertion of its App Attest key, or its development token. A device that has joined
    /// an account adds the passkey to that one.
    case device
    /// The certificate that the transport presents, in debug builds.
    case clientCertificate
    /// An operator's ticket, once.
    case ticket(String)
    /// Nothing, where anyone may make an account (`ACCOUNT_SIGN_UP=open`).
    case nothing
}

/// The gate's endpoints of accounts.
enum AccountPath {
    private static let prefix = "/api/auth/"

    static let registrationOptions = prefix + "passkey/register/options"
    static let registration = prefix + "passkey/register"
    static let signInOptions = prefix + "passkey/authenticate/options"
    static let signIn = prefix + "passkey/authenticate"
    static let deviceSignInOptions = prefix + "device/authenticate/options"
    static let deviceSignIn = prefix + "device/authenticate"
    static let refresh = prefix + "token/validate"
    static let logOut = prefix + "logout"
    static let devices = prefix + "devices"
    static let deviceOptions = prefix + "device/options"
    static let device = prefix + "device"
    static let account = prefix + "account"

    /// - Throws: for what can't be the identifier of a passkey.
    static func passkey(_ id: String) throws(ConfigurationProblem) -> String {
        try named("passkey", id, PasskeyOptions.credentialBytes)
    }

    /// Identifiers of devices come in base64, which has slashes.
    static func device(_ id: String) throws(ConfigurationProblem) -> String { try named("device", id, 32...32) }

    private static func named(
        _ kind: String, _ id: String, _ counts: ClosedRange<Int>
    ) throws(ConfigurationProblem) -> String {
        guard id.utf8.count <= PlayerAccount.maximumIDBytes, let bytes = BinaryText.bytes(base64: id.utf8),
            counts.contains(bytes.count)
        else { throw .invalidValue(kind) }
        return "\(prefix)\(kind)/\(BinaryText.base64URL(bytes))"
    }
}

/// Sends requests about an account that a player hasn't signed in to.
struct AccountRequests: Sendable {
    let caller: GateCaller
    let assertions: ConnectionAssertions
    private let tokens: AccessTokens
    private let sharedSecret: String?
    /// A development token stands in for App Attest.
    private let isDevelopment: Bool

    init(
        _ caller: GateCaller, _ assertions: ConnectionAssertions, _ tokens: AccessTokens,
        _ configuration: GateConfiguration
    ) {
        (self.caller, self.assertions, self.tokens) = (caller, assertions, tokens)
        (sharedSecret, isDevelopment) = (configuration.sharedSecret, configuration.developmentToken != nil)
    }

    /// - Parameter isFirst: of the two requests of a registration. A ticket is shown with the first one only.
    func post(_ path: String, _ body: [UInt8], by proof: AccountProof, isFirst: Bool) async throws -> JSONMembers {
        try caller.members(of: try await respond(path, body, by: proof, isFirst: isFirst))
    }

    private func respond(
        _ path: String, _ body: [UInt8], by proof: AccountProof, isFirst: Bool
    ) async throws -> GateResponse {
        switch proof {
        case .device where isDevelopment: return try await tokens.send(.post, path, body)
        case .device: return try await assertions.perform { try await post(path, body, $0) }
        case .ticket(let ticket) where isFirst:
            return try await post("\(path)?ticket=\(try QueryText.escaped(ticket))", body, [:])
        case .clientCertificate, .ticket, .nothing: return try await post(path, body, [:])
        }
    }

    private func post(_ path: String, _ body: [UInt8], _ credentials: HeaderFields) async throws -> GateResponse {
        var headers = credentials
        if let sharedSecret { headers.add("Authorization", "Bearer \(sharedSecret)") }
        return try await caller.post(path, body, headers: headers)
    }
}

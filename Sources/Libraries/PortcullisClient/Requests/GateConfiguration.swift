public import Foundation

/// Which gate, and which app. It is checked when it is made.
///
/// ```swift
/// let configuration = try GateConfiguration(
///     baseURLString: "https://mud.example.com:6200", teamIdentifier: "ABCDE12345")
/// ```
public struct GateConfiguration: Sendable {
    public let baseURL: URL
    public let teamIdentifier: String
    public let bundleIdentifier: String
    public var logLevel: LogLevel
    /// Time limits and sizes.
    public var limits: ClientLimits
    /// How a ``GatedConnection`` comes back.
    public var reconnection: ReconnectPolicy
    /// How access tokens are sent.
    public var authorizationScheme: AuthorizationScheme
    /// Sent with upgrades, where the gate asks for a shared secret in addition (`AUTH_MODE=shared-secret`).
    public var sharedSecret: String?

    let address: GateAddress
    /// Nil on a device, whatever the app gave.
    let developmentToken: String?

    /// - Parameters:
    ///   - baseURLString: for instance `https://mud.example.com:6200`.
    ///   - teamIdentifier: Apple's, exactly 10 letters and digits.
    ///   - bundleIdentifier: nil: the main bundle's.
    ///   - developmentToken: for simulators and Linux. Builds for devices ignore it. nil: the environment's
    ///     `PORTCULLIS_DEV_TOKEN`, or `GATE_AI_DEV_TOKEN`.
    ///   - logLevel: what ``ClientPlatform/log`` gets.
    /// - Throws: ``GateError/configuration(_:)``
    public init(
        baseURLString: String, teamIdentifier: String, bundleIdentifier: String? = nil, developmentToken: String? = nil,
        logLevel: LogLevel = .warning
    ) throws(GateError) {
        do throws(ConfigurationProblem) {
            address = try GateAddress(baseURLString)
            guard let url = URL(string: address.origin + address.basePath) else { throw .invalidURL }
            baseURL = url
            self.teamIdentifier = try Self.checkedTeam(teamIdentifier)
            self.bundleIdentifier = try Self.checkedBundle(bundleIdentifier ?? Bundle.main.bundleIdentifier)
            self.developmentToken = try DevelopmentToken.checked(developmentToken)
        } catch {
            throw .configuration(error)
        }
        self.logLevel = logLevel
        (limits, reconnection, authorizationScheme) = (ClientLimits(), ReconnectPolicy(), .dpop)
    }

    /// The same with a URL.
    ///
    /// - Throws: ``GateError/configuration(_:)``
    public init(
        baseURL: URL, bundleIdentifier: String? = nil, teamIdentifier: String, developmentToken: String? = nil,
        logLevel: LogLevel = .warning
    ) throws(GateError) {
        try self.init(
            baseURLString: baseURL.absoluteString, teamIdentifier: teamIdentifier, bundleIdentifier: bundleIdentifier,
            developmentToken: developmentToken, logLevel: logLevel)
    }

    private static func checkedTeam(_ text: String) throws(ConfigurationProblem) -> String {
        guard text.utf8.count == 10, text.utf8.allSatisfy(\.isASCIILetterOrDigit) else { throw .invalidTeamIdentifier }
        return text
    }

    private static func checkedBundle(_ text: String?) throws(ConfigurationProblem) -> String {
        guard let text else { throw .missingBundleIdentifier }
        guard (1...155).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isASCIILetterOrDigit || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") })
        else { throw .invalidBundleIdentifier }
        return text
    }
}

extension GateConfiguration: CustomStringConvertible, CustomReflectable {
    /// Without development token and shared secret.
    public var description: String { "\(address.origin)\(address.basePath) for \(teamIdentifier).\(bundleIdentifier)" }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// How an access token is sent with a request. A proof goes with it in either case.
public enum AuthorizationScheme: String, Sendable {
    /// RFC 9449.
    case dpop = "DPoP"
    /// For services that know only this one.
    case bearer = "Bearer"
}

/// A development token stands in for App Attest in simulators and in CI.
enum DevelopmentToken {
    /// In the order in which they are asked.
    static let environmentNames = ["PORTCULLIS_DEV_TOKEN", "GATE_AI_DEV_TOKEN"]

    /// Compiled in for simulators, and for Linux, where there is no App Attest either. So no build for devices contains
    /// one.
    static func checked(_ given: String?) throws(ConfigurationProblem) -> String? {
        #if targetEnvironment(simulator) || os(Linux)
            return try checked(given, environment: ProcessInfo.processInfo.environment)
        #else
            return nil
        #endif
    }

    static func checked(
        _ given: String?, environment: [String: String]
    ) throws(ConfigurationProblem) -> String? {
        let token = given ?? environmentNames.lazy.compactMap { environment[$0] }.first { !$0.utf8.isEmpty }
        guard let token else { return nil }
        guard (1...4_096).contains(token.utf8.count), token.utf8.allSatisfy(\.isVisibleASCII) else {
            throw .invalidDevelopmentToken
        }
        return token
    }
}

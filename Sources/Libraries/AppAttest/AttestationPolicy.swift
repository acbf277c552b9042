import Crypto

/// The conditions under which an attestation is accepted.
public struct AttestationPolicy: Sendable {
    /// The apps that may register a key. An empty list accepts nothing.
    public var apps: [AppID]
    /// The environments that may register a key. An empty set accepts nothing.
    public var environments: Set<AttestationEnvironment>
    /// The validation categories of iOS 27 and macOS 27 that may register a key; nil ignores them. If set, an
    /// attestation without a category (all those from before iOS 27) is refused.
    ///
    /// Observed: 1 executed by the system, 2 TestFlight, 3 development, 4 App Store, 5 enterprise or ad hoc,
    /// 6 Developer ID, 10 other.
    public var validationCategories: Set<UInt32>?

    public init(
        apps: [AppID], environments: Set<AttestationEnvironment> = [.production],
        validationCategories: Set<UInt32>? = nil
    ) {
        self.apps = apps
        self.environments = environments
        self.validationCategories = validationCategories
    }
}

/// The environment in which a key was attested, from the authenticator data's `aaguid` (Apple's step 8).
///
/// It says nothing about how the app was distributed: a development build on macOS 27 attests as `production` with
/// validation category 3. Use ``AttestationPolicy/validationCategories`` for that.
public enum AttestationEnvironment: String, Hashable, Sendable, CaseIterable {
    /// `appattest` followed by seven zero bytes.
    case production
    /// `appattestdevelop`.
    case development
    /// `appattestsandbox`.
    case sandbox

    /// The 16 bytes of the field.
    package var aaguid: [UInt8] {
        switch self {
        case .production: Array("appattest".utf8) + [UInt8](repeating: 0, count: 7)
        case .development: Array("appattestdevelop".utf8)
        case .sandbox: Array("appattestsandbox".utf8)
        }
    }

    package init?(aaguid: some Sequence<UInt8>) {
        let match = Self.allCases.first { $0.aaguid.elementsEqual(aaguid) }
        guard let match else { return nil }
        self = match
    }
}

/// An App ID: the team that signed an app, and its bundle identifier. Apple hashes its text form into every
/// attestation and assertion (the RP ID of Web Authentication).
public struct AppID: Hashable, Sendable, CustomStringConvertible {
    /// Exactly ten of A to Z and 0 to 9.
    public let teamID: String
    /// One to ``maximumBundleIDLength`` of letters, digits, hyphens and dots (Apple's CFBundleIdentifier). Underscores
    /// are accepted too: Apple's devices sign for identifiers that have them, as its own published sample shows.
    public let bundleID: String
    /// SHA-256 over the text form: 32 bytes (Apple's step 6 of an attestation, step 4 of an assertion).
    public let rpIDHash: [UInt8]

    /// The length of every team identifier.
    public static let teamIDLength = 10
    /// Far longer than App Store Connect accepts.
    public static let maximumBundleIDLength = 255

    /// - Returns: nil if either part is malformed.
    public init?(teamID: String, bundleID: String) {
        guard teamID.utf8.count == Self.teamIDLength, teamID.utf8.allSatisfy(Self.isTeamCharacter) else { return nil }
        guard (1...Self.maximumBundleIDLength).contains(bundleID.utf8.count),
            bundleID.utf8.allSatisfy(Self.isBundleCharacter)
        else { return nil }
        self.teamID = teamID
        self.bundleID = bundleID
        rpIDHash = Array(SHA256.hash(data: Array("\(teamID).\(bundleID)".utf8)))
    }

    /// Reads the text form, `TEAMID.bundle.identifier`.
    public init?(_ text: String) {
        guard let dot = text.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        self.init(teamID: String(text[..<dot]), bundleID: String(text[text.utf8.index(after: dot)...]))
    }

    /// The text form, `TEAMID.bundle.identifier`.
    public var description: String { "\(teamID).\(bundleID)" }

    private static func isTeamCharacter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isBundleCharacter(_ byte: UInt8) -> Bool {
        isTeamCharacter(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
    }
}

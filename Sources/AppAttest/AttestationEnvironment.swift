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

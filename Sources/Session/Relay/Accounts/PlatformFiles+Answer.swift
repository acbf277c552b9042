import Accounts
import Reactors

/// What apps and pages may use the relying party's passkeys: platforms read it at any time, without a redirect.
extension PlatformFiles {
    /// Seconds: as long as platforms may keep a file that has changed.
    private static let maximumAge = 3_600

    func body(of file: PlatformFile) -> [UInt8]? {
        switch file {
        case .appleAssociation: appleAssociation
        case .assetLinks: assetLinks
        case .relatedOrigins: relatedOrigins
        }
    }

    func answer(_ file: PlatformFile) -> HTTPAnswer? {
        body(of: file).map { JSONAnswers.cacheable($0, seconds: Self.maximumAge) }
    }
}

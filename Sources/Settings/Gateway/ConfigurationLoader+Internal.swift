import Admission
import Reactors

/// Who may use the internal listener.
extension ConfigurationLoader {
    /// Bytes; room for the longest token and a line end.
    private static let maximumTokenFileBytes = 1_024

    /// An address that other machines reach needs the token, and a permission, because the listener has no TLS.
    mutating func internalToken() -> InternalToken? {
        let section = settings.internalListener
        let (address, path) = (read(section.address), read(section.tokenPath))
        guard let address else {
            if path != nil { warn(section.tokenPath, "has no effect without ADMIN_BIND.") }
            return nil
        }
        if case .network = address { checkNetwork(hasToken: path != nil) }
        guard let path else { return nil }
        if NamedFile.isReadableByEverybody(path) {
            warn(section.tokenPath, "everybody on this machine can read the token: chmod 600 it.")
        }
        guard let text = text(of: section.tokenPath, path, maximumBytes: Self.maximumTokenFileBytes) else { return nil }
        do throws(OperatorListError) {
            return try InternalToken(text)
        } catch {
            fail(section.tokenPath, "names a file that \(error.problem)", error.remedy)
            return nil
        }
    }

    private mutating func checkNetwork(hasToken: Bool) {
        let section = settings.internalListener
        guard hasToken else {
            return refuse(
                section.address, "is an address that other machines can reach, and ADMIN_TOKEN_PATH isn't set",
                "Use 127.0.0.1, [::1] or a Unix socket, or set ADMIN_TOKEN_PATH: what connects there decides for clients.",
                involving: [section.address, section.tokenPath])
        }
        guard read(section.allowsPlainText) else {
            return refuse(
                section.address, "is an address that other machines can reach, without TLS",
                "Use 127.0.0.1, [::1] or a Unix socket. If only a network of your own can reach it, set"
                    + " ALLOW_INSECURE_ADMIN_NO_TLS=true.",
                involving: [section.address, section.allowsPlainText])
        }
        warn(section.address, "has no TLS: anyone on the network path can read the token.")
    }
}

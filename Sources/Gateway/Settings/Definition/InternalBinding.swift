package import Reactors
import WireText

/// ADMIN_BIND: where the internal listener is, and its options.
package struct InternalBinding: Sendable, Equatable {
    package let address: InternalAddress
    /// `group=`, of a Unix socket's file; nil: the gateway's own.
    package var socketGroup: String?
    /// `tls=off`: no TLS, though other machines can reach the address.
    package var allowsPlainText = false
}

extension ValuesOfSection where Section == InternalListenerSection, Access: ReadsStartSettings {
    /// Nil: there is no internal listener.
    package var address: InternalAddress? { self.binding?.address }
}

extension SettingGrammar {
    /// An address with a port, or a Unix socket; then options.
    static func internalBinding(_ text: String) throws(SettingProblem) -> InternalBinding? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        var binding = InternalBinding(address: try internalAddress(parts[0]))
        for option in parts.dropFirst() {
            if option.hasPrefix("group="), binding.address.isUnix, binding.socketGroup == nil {
                binding.socketGroup = try groupName(String(option.dropFirst("group=".count)))
            } else if option == "tls=off", !binding.address.isUnix, !binding.allowsPlainText {
                binding.allowsPlainText = true
            } else {
                throw SettingProblem(
                    problem: "has an option that it can't have",
                    remedy: "A Unix socket may have `,group=NAME`, an address `,tls=off`, each once.")
            }
        }
        return binding
    }

    /// As Debian's adduser accepts it. Whether there is such a group is a rule of the listener.
    private static func groupName(_ text: String) throws(SettingProblem) -> String {
        guard text.utf8.count <= 32, text.first.map({ $0.isLetter || $0 == "_" }) == true,
            text.utf8.allSatisfy({ ASCIIByte.isLetter($0) || ASCIIByte.isDigit($0) || "_-.".utf8.contains($0) })
        else {
            throw SettingProblem(
                problem: "has something else than the name of a group", remedy: "Write a name out of /etc/group.")
        }
        return text
    }

    private static func internalAddress(_ text: String) throws(SettingProblem) -> InternalAddress {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst("unix:".count))
            guard !path.isEmpty, path.utf8.count <= LocalSocket.maximumPathBytes else {
                throw SettingProblem(
                    problem:
                        "names a socket with an empty path or one longer than \(LocalSocket.maximumPathBytes) bytes",
                    remedy: "The system allows no longer path: use a shorter one.")
            }
            return .unix(path: path)
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            let host = internalHost(String(text[..<colon]))
        else {
            throw SettingProblem(
                problem: "is neither an address with a port nor a Unix socket",
                remedy: "Write it like `127.0.0.1:9464`, `[::1]:9464` or `unix:/run/portcullis/admin.sock`.")
        }
        return host.isLoopback
            ? .loopback(host: host.text, port: port) : .network(host: host.text, port: port)
    }

    /// IPv6 in brackets, as in a URL.
    private static func internalHost(_ text: String) -> NetworkHost? {
        guard text.hasPrefix("["), text.hasSuffix("]") else { return NetworkHost.ipv4(text) }
        return NetworkHost.ipv6(String(text.dropFirst().dropLast()))
    }
}

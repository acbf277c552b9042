import Accounts
import WireText

extension SettingGrammar {
    /// A domain as browsers compare it: in lower case, and no address (Web Authentication Level 3, section 4).
    static func relyingPartyID(_ text: String) throws(SettingProblem) -> String? {
        guard NetworkHost.ipv4(text) == nil, NetworkHost.ipv6(text) == nil, isHostName(text),
            text.utf8.allSatisfy({ $0 != UInt8(ascii: "_") && ASCIIByte.lowercased($0) == $0 })
        else {
            throw SettingProblem(
                problem: "isn't a domain",
                remedy: "Write only the host, like `mud.example.org`, in lower case: no address, scheme or port.")
        }
        return text
    }

    static func androidApps(_ text: String) throws(SettingProblem) -> [AndroidApp] {
        var apps: [AndroidApp] = []
        for element in try list(text) {
            guard let app = androidApp(element) else {
                throw SettingProblem(
                    problem: "holds something that isn't a package and a fingerprint",
                    remedy:
                        "Write `org.example.mud:` and the SHA-256 of the signing certificate, 64 hexadecimal digits.")
            }
            apps.append(app)
        }
        return apps
    }

    /// The digits may have colons between them, as keytool prints them.
    private static func androidApp(_ text: String) -> AndroidApp? {
        let parts = text.splitAtBytes(maxSplits: 1) { $0 == UInt8(ascii: ":") }
        guard parts.count == 2, isPackage(parts[0]) else { return nil }
        let digits = String(decoding: parts[1].utf8.filter { $0 != UInt8(ascii: ":") }, as: UTF8.self)
        return Hexadecimal.decode(digits, count: AndroidApp.fingerprintBytes).flatMap {
            AndroidApp(package: String(parts[0]), fingerprint: $0)
        }
    }

    private static func isPackage(_ text: Substring) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                ASCIIByte.isLetter($0) || ASCIIByte.isDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
            }
    }

    static func passkeyAttestation(_ text: String) throws(SettingProblem) -> PasskeyAttestation {
        if text.hasSameBytes(as: "none") { return .none }
        let prefix = "required:"
        guard text.hasBytePrefix(prefix) else {
            throw SettingProblem(
                problem: "has an unknown value",
                remedy: "Write `none`, or `required:` and a directory of root certificates.")
        }
        return .required(directory: try requiredPath(String(text.droppingBytes(prefix.utf8.count))))
    }
}

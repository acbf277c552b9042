import HTTPWire
import WireText

/// The paths of `/api/auth/`.
enum AccountPath: Equatable {
    case registrationOptions, registration, signInOptions, signIn
    case devices, device, deviceOptions
    /// By the identifier of the credential.
    case passkey(String)
    /// By the identifier of the device's key.
    case deviceNamed(String)
    case account
    case tokenValidation, deviceSignIn, deviceSignInOptions, logOut

    static let prefix = "/api/auth/"

    /// - Parameter path: that begins with ``prefix``.
    init?(_ path: Substring) {
        let rest = path.droppingBytes(Self.prefix.utf8.count)
        switch WireWord(rest) {
        case "passkey/register/options": self = .registrationOptions
        case "passkey/register": self = .registration
        case "passkey/authenticate/options": self = .signInOptions
        case "passkey/authenticate": self = .signIn
        case "devices": self = .devices
        case "device": self = .device
        case "device/options": self = .deviceOptions
        case "account": self = .account
        case "token/validate": self = .tokenValidation
        case "device/authenticate": self = .deviceSignIn
        case "device/authenticate/options": self = .deviceSignInOptions
        case "logout": self = .logOut
        default:
            if let id = Self.name(in: rest, after: "passkey/") {
                self = .passkey(id)
            } else if let id = Self.name(in: rest, after: "device/") {
                self = .deviceNamed(id)
            } else {
                return nil
            }
        }
    }

    /// Whether it is below ``prefix``, whatever there is.
    static func covers(_ head: RequestHead) -> Bool {
        head.path.drop { $0 == UInt8(ascii: "/") }.starts(with: "api/auth/".utf8)
    }

    private static func name(in text: Substring, after prefix: String) -> String? {
        guard text.hasBytePrefix(prefix) else { return nil }
        let name = text.droppingBytes(prefix.utf8.count)
        return name.utf8.isEmpty || name.utf8.contains(UInt8(ascii: "/")) ? nil : unescaped(name)
    }

    /// The answers name devices in base64, whose `/`, `+` and `=` clients escape in a path (RFC 3986, section 2.1).
    ///
    /// - Returns: nil for a malformed escape, which no request has.
    private static func unescaped(_ name: Substring) -> String? {
        var (bytes, rest) = ([UInt8](), Array(name.utf8)[...])
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hexadecimal.value(of:)),
                let low = rest.popFirst().flatMap(Hexadecimal.value(of:))
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    var methods: [RequestMethod] {
        switch self {
        case .registrationOptions, .registration, .signInOptions, .signIn, .device, .deviceOptions, .tokenValidation,
            .deviceSignIn, .deviceSignInOptions, .logOut:
            [.post, .options]
        case .devices: [.get, .options]
        case .passkey, .deviceNamed, .account: [.delete, .options]
        }
    }
}

/// The files of `/.well-known/` that platforms ask for.
enum PlatformFile: String, CaseIterable {
    case appleAssociation = "/.well-known/apple-app-site-association"
    case assetLinks = "/.well-known/assetlinks.json"
    case relatedOrigins = "/.well-known/webauthn"
}

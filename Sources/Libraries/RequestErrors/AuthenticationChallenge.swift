/// A challenge in `WWW-Authenticate`: a scheme with parameters (RFC 9110 section 11.3).
public struct AuthenticationChallenge: Sendable {
    /// A token (RFC 9110 section 5.6.2).
    public let scheme: String
    /// In their order. Names are tokens; values may be any text.
    public var parameters: [(name: String, value: String)]

    public init(scheme: String, parameters: [(name: String, value: String)] = []) {
        (self.scheme, self.parameters) = (scheme, parameters)
    }

    /// The field's value: each parameter as a quoted string (RFC 9110 section 5.6.4).
    public var text: String {
        let parameters = parameters.map { "\($0.name)=\(Self.quoted($0.value))" }.joined(separator: ", ")
        return parameters.isEmpty ? scheme : "\(scheme) \(parameters)"
    }

    /// Bytes that aren't printable ASCII become question marks, so no value can end the field.
    private static func quoted(_ text: String) -> String {
        var quoted: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { quoted.append(UInt8(ascii: "\\")) }
            quoted.append((0x20...0x7E).contains(byte) ? byte : UInt8(ascii: "?"))
        }
        return String(decoding: quoted + [UInt8(ascii: "\"")], as: UTF8.self)
    }
}

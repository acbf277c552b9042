import WireText

/// Why the `Authorization` fields of a request don't present a token.
public enum AuthorizationRefusal: Error, Hashable, Sendable {
    /// More than one field (RFC 6750 section 2: one method in each request).
    case severalFields
    /// Neither `DPoP` nor `Bearer`: the client hasn't tried to authenticate in a way that is known here (RFC 6750
    /// section 3.1).
    case otherScheme
    /// What follows the scheme isn't one token of RFC 6750's characters, or is longer than ``JOSELimits/maximumBytes``.
    case malformedToken

    /// For the client.
    public var code: DPoPErrorCode {
        switch self {
        case .severalFields: .invalidRequest
        case .otherScheme, .malformedToken: .invalidToken
        }
    }
}

/// An access token as an `Authorization` field presents it. Nothing about it is verified. No description shows it.
public struct PresentedToken: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The scheme of the field.
    public enum Scheme: Hashable, Sendable {
        /// RFC 9449 section 7.1: the proof must have `ath`.
        case dpop
        /// RFC 6750. Some clients send it together with a proof; without a proof it doesn't present a bound token.
        case bearer

        /// - Parameter name: case-insensitive (RFC 9110 section 11.1).
        init?(_ name: ArraySlice<UInt8>) {
            func isNamed(_ scheme: StaticString) -> Bool {
                name.elementsEqual(scheme.description.utf8) { ASCIIByte.lowercased($0) == $1 }
            }
            if isNamed("dpop") { self = .dpop } else if isNamed("bearer") { self = .bearer } else { return nil }
        }
    }

    public let scheme: Scheme
    /// Secret.
    public let text: String

    /// - Parameter authorization: the values of all `Authorization` fields, without white space around them. The scheme
    ///   is case-insensitive (RFC 9110 section 11.1).
    /// - Returns: nil if there is no field: the client hasn't tried to authenticate.
    public static func read(authorization: [String]) throws(AuthorizationRefusal) -> PresentedToken? {
        guard let field = authorization.first else { return nil }
        guard authorization.count == 1 else { throw .severalFields }
        let words = Array(field.utf8).split(
            separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = words.first, let scheme = Scheme(name) else { throw .otherScheme }
        guard words.count == 2, isToken68(words[1].drop { $0 == UInt8(ascii: " ") }) else { throw .malformedToken }
        let text = String(decoding: words[1].drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
        return PresentedToken(scheme: scheme, text: text)
    }

    /// `b64token` of RFC 6750 section 2.1, which is `token68` of RFC 9110 section 11.2.
    private static func isToken68(_ text: ArraySlice<UInt8>) -> Bool {
        let symbols = text.prefix { $0 != UInt8(ascii: "=") }
        return !symbols.isEmpty && text.count <= JOSELimits.maximumBytes && symbols.allSatisfy(isSymbol)
            && text[symbols.endIndex...].allSatisfy { $0 == UInt8(ascii: "=") }
    }

    private static func isSymbol(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }

    public var description: String { "(access token)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

import StrictJSON
import WireText

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The claims of an access token (RFC 9068 section 2.2). Times are whole seconds: fractions are dropped when the token
/// is written.
public struct AccessTokenClaims: Hashable, Sendable {
    /// `iss`: the URL of the issuer.
    public var issuer: String
    /// `aud`: the services that accept it; at least one. A single one is written as a string (RFC 7519 section 4.1.3).
    public var audience: [String]
    /// `sub`: the admitted client; for an attested device, the identifier of its key.
    public var subject: String
    /// `client_id`: the app.
    public var app: String
    /// `amr` (RFC 9068 section 2.2.1): how the subject proved itself, for instance `app_attest`. Written as an array of
    /// one.
    public var admissionMethod: String
    /// `jti`: unique for each token.
    public var tokenID: String
    /// `iat`.
    public var issuedAt: Date
    /// `exp`: the token is valid before this time.
    public var expiresAt: Date
    /// `cnf.jkt` (RFC 9449 section 6.1): the key that the token is bound to.
    public var boundKey: JWKThumbprint
    /// `mode` is `dev`: a development token replaced the attestation.
    public var isDevelopment: Bool
    /// `passkey`: the passkey that the subject, an account, has signed in with; nil for all others.
    public var passkey: String?
    /// `device`: the attested device that the subject, an account, has signed in with; nil for all others.
    public var device: String?
    /// `family`: the refresh tokens that the token was issued with, which it ends with; nil for all others.
    public var family: String?

    public init(
        issuer: String, audience: [String], subject: String, app: String, admissionMethod: String, tokenID: String,
        issuedAt: Date, expiresAt: Date, boundKey: JWKThumbprint, isDevelopment: Bool = false, passkey: String? = nil,
        device: String? = nil, family: String? = nil
    ) {
        (self.issuer, self.audience, self.subject, self.app) = (issuer, audience, subject, app)
        (self.admissionMethod, self.tokenID, self.issuedAt) = (admissionMethod, tokenID, issuedAt)
        (self.expiresAt, self.boundKey, self.isDevelopment) = (expiresAt, boundKey, isDevelopment)
        (self.passkey, self.device, self.family) = (passkey, device, family)
    }

    /// The value of `mode` in a token and in its response, if ``isDevelopment``.
    public static let developmentMode = "dev"
}

/// The claims that an access token must have, and the others.
public enum AccessTokenClaim: String, Hashable, Sendable, CaseIterable {
    case issuer = "iss"
    case audience = "aud"
    case subject = "sub"
    case app = "client_id"
    case admissionMethod = "amr"
    case tokenID = "jti"
    case issuedAt = "iat"
    case expiresAt = "exp"
    case confirmation = "cnf"
    case mode, passkey, device, family
}

extension AccessTokenClaims {
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.member("iss", issuer)
        if audience.count == 1 { writer.member("aud", audience[0]) } else { writer.member("aud", audience) }
        writer.member("sub", subject)
        writer.member("client_id", app)
        writer.member("amr", [admissionMethod])
        writer.member("jti", tokenID)
        writer.member("iat", issuedAt.wholeSeconds)
        writer.member("exp", expiresAt.wholeSeconds)
        var confirmation = JSONWriter()
        confirmation.member("jkt", boundKey.text)
        writer.member("cnf", json: confirmation.object)
        if isDevelopment { writer.member("mode", Self.developmentMode) }
        if let passkey { writer.member("passkey", passkey) }
        if let device { writer.member("device", device) }
        if let family { writer.member("family", family) }
        return writer.object
    }

    /// Every claim with its type; nothing is compared yet.
    init(_ object: JSONObject) throws(AccessTokenRefusal) {
        func text(_ claim: AccessTokenClaim) throws(AccessTokenRefusal) -> String {
            guard let text = object[claim.rawValue]?.string, !text.isEmpty else { throw .claim(claim) }
            return text
        }
        func time(_ claim: AccessTokenClaim) throws(AccessTokenRefusal) -> Date {
            guard let seconds = object[claim.rawValue]?.numericDate else { throw .claim(claim) }
            return Date(timeIntervalSince1970: seconds)
        }
        issuer = try text(.issuer)
        audience = try Self.audience(object)
        subject = try text(.subject)
        app = try text(.app)
        admissionMethod = try Self.admissionMethod(object)
        tokenID = try text(.tokenID)
        issuedAt = try time(.issuedAt)
        expiresAt = try time(.expiresAt)
        boundKey = try Self.boundKey(object)
        isDevelopment = try Self.isDevelopment(object)
        func optionalText(_ claim: AccessTokenClaim) throws(AccessTokenRefusal) -> String? {
            object[claim.rawValue] == nil ? nil : try text(claim)
        }
        passkey = try optionalText(.passkey)
        device = try optionalText(.device)
        family = try optionalText(.family)
    }

    /// One text, or an array of them (RFC 7519 section 4.1.3).
    private static func audience(_ object: JSONObject) throws(AccessTokenRefusal) -> [String] {
        if let text = object["aud"]?.string, !text.isEmpty { return [text] }
        guard let texts = texts(object["aud"]) else { throw .claim(.audience) }
        return texts
    }

    private static func admissionMethod(_ object: JSONObject) throws(AccessTokenRefusal) -> String {
        guard let texts = texts(object["amr"]), texts.count == 1 else { throw .claim(.admissionMethod) }
        return texts[0]
    }

    /// A non-empty array of non-empty texts.
    private static func texts(_ value: JSONValue?) -> [String]? {
        guard case .array(let elements)? = value, !elements.isEmpty else { return nil }
        let texts = elements.compactMap(\.string).filter { !$0.isEmpty }
        return texts.count == elements.count ? texts : nil
    }

    private static func boundKey(_ object: JSONObject) throws(AccessTokenRefusal) -> JWKThumbprint {
        guard let confirmation = object["cnf"] else { throw .notBound }
        guard let text = confirmation.object?["jkt"]?.string, let key = JWKThumbprint(text: text) else {
            throw .claim(.confirmation)
        }
        return key
    }

    /// Absent, or `dev`: an unknown mode must not count as production.
    private static func isDevelopment(_ object: JSONObject) throws(AccessTokenRefusal) -> Bool {
        guard let mode = object["mode"] else { return false }
        guard mode.string?.hasSameBytes(as: developmentMode) == true else { throw .claim(.mode) }
        return true
    }
}

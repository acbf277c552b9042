import DPoP
package import KeyStore
import WireText

/// What a player has signed in with: an access token ends with all of it.
package struct AccountCredential: Codable, Hashable, Sendable {
    package let passkey: PasskeyMark?
    /// That has joined the account.
    package let device: KeyID?
    /// Of refresh tokens.
    package let family: RefreshFamilyID?

    package init(passkey: PasskeyMark) { (self.passkey, device, family) = (passkey, nil, nil) }

    package init(device: KeyID) { (passkey, self.device, family) = (nil, device, nil) }

    package init(_ beginner: RefreshBeginner, family: RefreshFamilyID) {
        switch beginner {
        case .passkey(let mark): (passkey, device) = (mark, nil)
        case .device(let key): (passkey, device) = (nil, key)
        }
        self.family = family
    }

    /// - Returns: nil for what no gateway issues: a device's token has a family.
    init?(_ claims: AccessTokenClaims) {
        let (passkey, device) = (
            claims.passkey.flatMap { PasskeyMark(text: $0) }, claims.device.flatMap { KeyID(text: $0) }
        )
        let family = claims.family.flatMap { RefreshFamilyID(text: $0) }
        guard (claims.passkey == nil) == (passkey == nil), (claims.device == nil) == (device == nil),
            (claims.family == nil) == (family == nil), (passkey == nil) != (device == nil),
            device == nil || family != nil
        else { return nil }
        (self.passkey, self.device, self.family) = (passkey, device, family)
    }

    func note(in claims: inout AccessTokenClaims) {
        (claims.passkey, claims.device, claims.family) = (passkey?.text, device?.base64, family?.text)
    }

    /// `amr`
    var method: MethodName { device == nil ? AccessTokenMethod.accountName : AppAttestMethod.name }

    /// Why the account no longer has it; nil: it does.
    func problem(in account: AccountStanding) -> String? {
        if let passkey, !account.passkeys.contains(passkey) {
            return "the passkey that the token was issued for is removed"
        }
        if let family, !account.families.contains(family) {
            return "the player has signed out, or the token's family of refresh tokens has ended"
        }
        return nil
    }

    func isEnded(by revoked: RevokedCredentials) -> Bool {
        passkey.map(revoked.passkeys.contains) ?? false || device.map(revoked.keys.contains) ?? false
            || family.map(revoked.families.contains) ?? false
    }
}

extension AccessTokenClaims {
    var isOfAccount: Bool { passkey != nil || device != nil || family != nil }
}

extension Identity {
    /// An attested device, as its access tokens name it.
    package static func device(_ key: KeyID) -> Identity {
        Identity(method: AccessTokenMethod.name, subject: TokenSubjectName.device(key))
    }
}

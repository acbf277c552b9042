package import Admission
package import KeyStore

/// What a player does with an account, for the audit log.
package struct AccountAct: Hashable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case begun = "account begun"
        case passkeyAdded = "passkey added"
        case passkeyRemoved = "passkey removed"
        case deviceJoined = "device joined"
        case deviceRemoved = "device removed"
        case accountRemoved = "account removed"
        case signedOut = "signed out"
    }

    package let kind: Kind
    package let account: AccountID
    /// Beside the kind: what it began with, or which device. Nothing in it is the player's own words.
    package let detail: String

    /// - Parameter remark: about the passkey that was used for it.
    init(_ kind: Kind, of account: AccountID, _ detail: String = "", _ remark: String? = nil) {
        let texts = [detail, remark ?? ""].filter { !$0.utf8.isEmpty }
        (self.kind, self.account, self.detail) = (kind, account, texts.joined(separator: ", "))
    }

    /// Writes the audit line of an act right before it is done. If it returns a refusal, that is the answer and nothing
    /// is done.
    package typealias Record = @Sendable (AccountAct) -> Refusal?
}

package import KeyStore

/// What a client that the gate has authenticated proves about a player's account.
package enum AccountEvidence: Sendable {
    /// The player has signed in to it.
    ///
    /// - Parameters:
    ///   - key: the thumbprint of the key that the access token is bound to.
    ///   - family: of the refresh tokens that it came with.
    case account(AccountID, key: [UInt8], family: RefreshFamilyID? = nil)
    /// A device, which may have joined an account.
    ///
    /// - Parameter isFresh: it has signed a challenge for this request.
    case device(KeyID, isFresh: Bool)
    /// The operator has issued a ticket for it, which is used up now.
    case reclaimed(AccountID)
    /// No account yet: one may begin so.
    case origin(AccountOrigin)
}

extension Principal {
    /// - Returns: nil for a client without credentials, for one whose proof can't be kept, and for the ticket of a
    ///   player who has signed in.
    package var accountEvidence: AccountEvidence? {
        if let reclaims { return .reclaimed(reclaims) }
        guard let evidence = proof?.accountEvidence else {
            // The bearer of an operator's ticket, which has proved nothing that could be taken back.
            let isOperators = identity.method.holders == .visitors && !identity.method.isOnlyByName
            return proof == nil && isOperators && !isOfSharedTicket ? .origin(.ticket) : nil
        }
        guard isByTicket else { return evidence }
        // Whoever has it may be another than the player, and holds no key.
        return switch evidence {
        case .device(let key, _): .device(key, isFresh: false)
        case .account: nil
        case .origin, .reclaimed: evidence
        }
    }
}

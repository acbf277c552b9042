package import FoundationEssentials

/// A simulated authenticator with its passkeys, as a system keeps them for its user: it does what an app's
/// `ASAuthorizationController` does, with the user's consent at once. Apps have the origin `https://` and the domain.
package struct VirtualAuthenticator: Sendable {
    package enum Failure: Error, Hashable, Sendable {
        /// It has a passkey of the account already.
        case excluded
        /// It has none that may be used.
        case noPasskey
    }

    private struct Entry: Sendable {
        let relyingParty: String
        /// The account.
        let user: [UInt8]
        var passkey: SimulatedPasskey
    }

    /// The newest last.
    private var entries: [Entry] = []

    package init() {}

    /// The identifiers of its passkeys.
    package var credentialIDs: [[UInt8]] { entries.map(\.passkey.credentialID) }

    /// Makes a passkey.
    ///
    /// - Parameters:
    ///   - user: the account.
    ///   - excluded: identifiers of passkeys: with one of them it makes no further one.
    package mutating func create(
        for user: [UInt8], at relyingParty: String, challenge: [UInt8], excluding excluded: [[UInt8]], time: Date
    ) throws -> (id: [UInt8], clientDataJSON: [UInt8], attestationObject: [UInt8]) {
        guard !credentialIDs.contains(where: excluded.contains) else { throw Failure.excluded }
        let passkey = SimulatedPasskey(.es256())
        let made = try passkey.registration(
            Self.request(relyingParty, challenge), .none, by: try SimulatedVendor(at: time), at: time)
        entries.append(Entry(relyingParty: relyingParty, user: user, passkey: passkey))
        return (passkey.credentialID, made.clientDataJSON, made.attestationObject)
    }

    /// Signs with the newest passkey of a domain.
    ///
    /// - Parameters:
    ///   - allowed: identifiers of passkeys that may be used; empty: any.
    ///   - chosen: the one that its user chooses.
    package mutating func get(
        at relyingParty: String, challenge: [UInt8], allowed: [[UInt8]], choosing chosen: [UInt8]? = nil
    ) throws -> (
        id: [UInt8], user: [UInt8], clientDataJSON: [UInt8], authenticatorData: [UInt8], signature: [UInt8]
    ) {
        let index = entries.lastIndex { entry in
            let id = entry.passkey.credentialID
            return entry.relyingParty == relyingParty && (allowed.isEmpty || allowed.contains(id))
                && (chosen == nil || chosen == id)
        }
        guard let index else { throw Failure.noPasskey }
        let used = try entries[index].passkey.authentication(Self.request(relyingParty, challenge))
        return (
            entries[index].passkey.credentialID, entries[index].user, used.clientDataJSON, used.authenticatorData,
            used.signature
        )
    }

    /// Its user deletes a passkey.
    package mutating func forget(_ id: [UInt8]) { entries.removeAll { $0.passkey.credentialID == id } }

    private static func request(_ relyingParty: String, _ challenge: [UInt8]) -> PasskeyRequest {
        PasskeyRequest(rpID: relyingParty, origin: "https://" + relyingParty, challenge: challenge)
    }
}

// Keeps an authenticator between runs of a tool.
extension VirtualAuthenticator {
    /// The passkeys with their private keys: for files of a test or a demonstration.
    package struct Saved: Codable, Sendable {
        struct Entry: Codable, Sendable {
            let relyingParty: String
            let user: Data
            let passkey: SimulatedPasskey.Saved
        }

        let entries: [Entry]
    }

    package var saved: Saved {
        Saved(
            entries: entries.map {
                Saved.Entry(relyingParty: $0.relyingParty, user: Data($0.user), passkey: $0.passkey.saved)
            })
    }

    package init(restoring saved: Saved) throws {
        entries = try saved.entries.map { kept in
            Entry(
                relyingParty: kept.relyingParty, user: Array(kept.user),
                passkey: try SimulatedPasskey(restoring: kept.passkey))
        }
    }
}

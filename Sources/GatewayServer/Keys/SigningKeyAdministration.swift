import Admission
import DPoP
package import FoundationEssentials
import KeyStore
import Observability
package import Settings
import WireText

/// The operator's administration of the keys that sign access tokens, on a store that a gateway may be using at the same time.
package struct SigningKeyAdministration {
    private let store: any SigningKeyStore
    private let rotation: SigningKeyRotation
    /// Thirty days: a key signs for longer.
    package static let maximumLead = 2_592_000

    /// - Parameters:
    ///   - location: an existing store; it isn't created.
    ///   - lead: seconds for which a new key is published before it signs, at most ``maximumLead``; nil: a day.
    package init(
        _ location: StoreLocation, tokens: SectionValues<TokenSection>, lead: Int? = nil
    ) throws(SigningKeyAdministrationError) {
        do throws(StoreOpeningError) { store = try location.open().signingKeyStore } catch {
            switch error {
            case .missing(let path): throw .noStore(path: path)
            case .file(let reason): throw .keys("\(reason)")
            case .database(let reason): throw .database(reason)
            }
        }
        rotation = SigningKeyRotation(
            store,
            schedule: lead.map { TokenState.schedule(tokens.live, lead: Double($0)) }
                ?? TokenState.schedule(tokens.live))
    }

    /// A line for each key: the published ones in the order in which they sign, then the revoked ones.
    package func list(at time: Date, json: Bool = false) throws(SigningKeyAdministrationError) -> [String] {
        let stored: StoredSigningKeys
        do throws(KeyRegistryError) { stored = try store.signingKeys() } catch { throw .keys("\(error)") }
        let stages = SigningKeyStages(stored, schedule: rotation.schedule, at: time)
        return stored.keys.map { key in
            let stage = "\(stages?.stage(of: key.id) ?? "damaged")"
            let (published, signs) = (shown(key.publishedAt), shown(key.signsFrom))
            guard json else { return "\(key.id)  \(stage)  published \(published)  signs from \(signs)" }
            return object([("key", key.id), ("state", stage), ("publishedAt", published), ("signsFrom", signs)])
        }
            + stored.revoked.map { key in
                let time = shown(key.revokedAt)
                guard json else { return "\(key.id)  revoked  at \(time)" }
                return object([("key", key.id), ("state", "revoked"), ("revokedAt", time)])
            }
    }

    /// In one line.
    private func object(_ members: [(name: String, text: String)]) -> String {
        var writer = JSONWriter()
        for member in members { writer.member(member.name, member.text) }
        return String(decoding: writer.object, as: UTF8.self)
    }

    /// - Returns: the new key, and when it begins to sign.
    package func rotate(at time: Date) throws(SigningKeyAdministrationError) -> (id: String, signsFrom: String) {
        do throws(SigningKeyError) {
            let added = try rotation.rotate(at: time)
            return (added.key.keyID, shown(Int64(added.signsFrom.timeIntervalSince1970 * 1_000)))
        } catch { throw .keys("\(error)") }
    }

    package func revoke(_ keyID: String, at time: Date) throws(SigningKeyAdministrationError) {
        do throws(SigningKeyError) { try rotation.revoke(keyID, at: time) } catch {
            if case .unknownKey = error { throw .unknownKey }
            throw .keys("\(error)")
        }
    }

    private func shown(_ milliseconds: Int64) -> String { "\(Timestamp(unixMilliseconds: milliseconds))" }
}

package enum SigningKeyAdministrationError: Error, CustomStringConvertible {
    case keys(String)
    case database(FleetStoreError)
    /// The gateway hasn't run yet, or the path is wrong.
    case noStore(path: String)
    case unknownKey

    package var description: String {
        switch self {
        case .keys(let reason): reason
        case .database(let error): "\(error)"
        case .noStore(let path): "no signing keys yet: no database at \(EscapedText(NamedFile.absolute(path)))"
        case .unknownKey: "no such signing key"
        }
    }

    package var hint: String {
        switch self {
        case .keys: "portcullis store check says what is wrong with it."
        case .database(let error): error.hint
        case .noStore: StoreOpeningError.hint
        case .unknownKey: "portcullis signing-keys list shows all."
        }
    }
}

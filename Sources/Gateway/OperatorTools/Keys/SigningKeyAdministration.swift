import Admission
package import DPoP
package import FoundationEssentials
import KeyStore
import Observability
package import Settings
import WireText

/// The operator's administration of the keys that sign access tokens, on a store that a gateway may be using at the
/// same time.
package struct SigningKeyAdministration {
    private let store: any SigningKeyStore
    private let rotation: SigningKeyRotation
    /// Thirty days: a key signs for longer.
    package static let maximumLead = 2_592_000

    /// - Parameters:
    ///   - location: an existing store; it isn't created.
    ///   - schedule: the gateway's.
    package init(_ location: StoreLocation, schedule: SigningKeySchedule) throws(OperatorError) {
        store = try location.open(without: "no signing keys yet", unusable: OperatorError.signingKeys).signingKeyStore
        rotation = SigningKeyRotation(store, schedule: schedule)
    }

    /// A line for each key: the published ones in the order in which they sign, then the revoked ones.
    package func list(at time: Date, json: Bool = false) throws(OperatorError) -> [String] {
        let stored: StoredSigningKeys
        do throws(KeyRegistryError) { stored = try store.signingKeys() } catch { throw .signingKeys("\(error)") }
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
    package func rotate(at time: Date) throws(OperatorError) -> (id: String, signsFrom: String) {
        do throws(SigningKeyError) {
            let added = try rotation.rotate(at: time)
            return (added.key.keyID, shown(Int64(added.signsFrom.timeIntervalSince1970 * 1_000)))
        } catch { throw .signingKeys("\(error)") }
    }

    package func revoke(_ keyID: String, at time: Date) throws(OperatorError) {
        do throws(SigningKeyError) { try rotation.revoke(keyID, at: time) } catch {
            if case .unknownKey = error { throw .unknownSigningKey }
            throw .signingKeys("\(error)")
        }
    }

    private func shown(_ milliseconds: Int64) -> String { "\(Timestamp(unixMilliseconds: milliseconds))" }
}

extension OperatorError {
    static func signingKeys(_ reason: String) -> OperatorError {
        OperatorError(reason, hint: "portcullis store check says what is wrong with it.")
    }

    static let unknownSigningKey = OperatorError(
        "no such signing key", hint: "portcullis signing-keys list shows all.")
}

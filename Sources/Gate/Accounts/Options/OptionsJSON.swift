import Admission
import KeyStore
import WebAuthn
import WireText

/// The options of the ceremonies, as `parseCreationOptionsFromJSON()` and `parseRequestOptionsFromJSON()` read them
/// (Web Authentication Level 3, sections 5.1.8 and 5.1.9).
enum OptionsJSON {
    private static let timeout = Int64(PasskeyChallenges.timeToLive.components.seconds) * 1_000

    /// For every passkey of this relying party: none is named, so nothing is told of any account.
    static func request(_ challenge: [UInt8], _ relyingParty: RelyingParty) -> [UInt8] {
        var options = JSONWriter()
        options.member("challenge", Base64URL.encode(challenge))
        options.member("timeout", timeout)
        options.member("rpId", relyingParty.id)
        options.member("allowCredentials", json: [] as [[UInt8]])
        options.member("userVerification", "required")
        return options.object
    }

    /// - Parameters:
    ///   - account: that the passkey is for.
    ///   - known: its passkeys: an authenticator that has one makes no second one.
    static func creation(
        _ challenge: [UInt8], for account: AccountID, known: [Passkey], _ services: AccountServices
    ) -> [UInt8] {
        var options = JSONWriter()
        options.member("rp", json: relyingParty(services))
        options.member("user", json: user(account, services))
        options.member("challenge", Base64URL.encode(challenge))
        options.member("pubKeyCredParams", json: services.policy.algorithms.map(parameter))
        options.member("timeout", timeout)
        options.member("excludeCredentials", json: known.map { descriptor($0.credentialID) })
        options.member("authenticatorSelection", json: selection)
        options.member("attestation", services.policy.attestation == .required ? "direct" : "none")
        return options.object
    }

    private static func relyingParty(_ services: AccountServices) -> [UInt8] {
        var entity = JSONWriter()
        entity.member("id", services.relyingParty.id)
        entity.member("name", services.name)
        return entity.object
    }

    /// An account has no name: what the player's system shows tells several of them apart.
    private static func user(_ account: AccountID, _ services: AccountServices) -> [UInt8] {
        var entity = JSONWriter()
        entity.member("id", Base64URL.encode(account.bytes))
        entity.member("name", "\(services.name) \(account.text.utf8Prefix(8))")
        entity.member("displayName", "")
        return entity.object
    }

    private static func parameter(_ algorithm: CredentialAlgorithm) -> [UInt8] {
        var parameter = JSONWriter()
        parameter.member("type", "public-key")
        parameter.member("alg", algorithm.rawValue)
        return parameter.object
    }

    private static func descriptor(_ id: [UInt8]) -> [UInt8] {
        var descriptor = JSONWriter()
        descriptor.member("type", "public-key")
        descriptor.member("id", Base64URL.encode(id))
        return descriptor.object
    }

    private static let selection: [UInt8] = {
        var selection = JSONWriter()
        selection.member("residentKey", "required")
        selection.member("requireResidentKey", true)
        selection.member("userVerification", "required")
        return selection.object
    }()
}

extension String {
    /// Of text in ASCII.
    fileprivate func utf8Prefix(_ count: Int) -> String { String(decoding: utf8.prefix(count), as: UTF8.self) }
}

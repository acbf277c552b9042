import Admission
import Crypto
import KeyStore
import WebAuthn
import WireText

/// A passkey's use as a client presents it: what `navigator.credentials.get()` returned, read and not verified.
struct PasskeyProof: Sendable {
    let mark: PasskeyMark
    let challenge: [UInt8]
    private let clientData: CollectedClientData
    private let authenticatorData: [UInt8]
    private let signature: [UInt8]
    private let userHandle: [UInt8]?

    init(_ credential: CredentialJSON, of relyingParty: RelyingParty) throws(RefusedRequest) {
        mark = .of(credential.id)
        let json = try credential.bytes("clientDataJSON")
        authenticatorData = try credential.bytes("authenticatorData")
        signature = try credential.bytes("signature")
        userHandle = try credential.userHandle()
        clientData = try .read(json, of: relyingParty)
        challenge = try clientData.challengeBytes()
    }

    /// All steps of §7.2 but the spending of the challenge, which is ours.
    ///
    /// - Parameter isOwnerKnown: by an access token. Without it the authenticator has to name the account (§7.2 step
    ///   6).
    /// - Returns: what the store has to record.
    func verify(
        _ found: FoundPasskey, of relyingParty: RelyingParty, isOwnerKnown: Bool = false, at moment: Moment
    ) throws(RefusedRequest) -> (use: PasskeyUse, isEligibilityChanged: Bool) {
        guard userHandle == found.account.id.bytes || userHandle == nil && isOwnerKnown else {
            throw .rejected("passkey: \(userHandle == nil ? "no" : "another account's") user handle", .passkeyKnown)
        }
        let key: CredentialPublicKey
        do throws(PublicKeyFault) { key = try CredentialPublicKey(cose: found.passkey.publicKey) } catch {
            throw .storeUnavailable(.unavailable("a passkey's key in the store is damaged"))
        }
        do throws(CeremonyError) {
            let verified = try AuthenticationVerifier(relyingParty: relyingParty).verify(
                clientData, authenticatorData, signature, challenge: challenge, credential: found.passkey.record(key))
            let record = verified.record
            let use = PasskeyUse(
                mark: mark, signCount: record.signCount, isBackupEligible: record.isBackupEligible,
                isBackedUp: record.isBackedUp, time: moment.unixMilliseconds)
            return (use, verified.isBackupEligibilityChanged)
        } catch {
            let refused = error.refusal(in: clientData, of: relyingParty)
            guard case .counterNotHigher = error else { throw refused }
            throw refused.ofPasskey(mark, in: found.account.id)
        }
    }
}

extension PasskeyMark {
    static func of(_ credentialID: [UInt8]) -> PasskeyMark {
        guard let mark = PasskeyMark(bytes: Array(SHA256.hash(data: credentialID))) else {
            preconditionFailure("SHA-256 has \(length) bytes")
        }
        return mark
    }
}

extension Passkey {
    fileprivate func record(_ key: CredentialPublicKey) -> CredentialRecord {
        CredentialRecord(
            id: credentialID, publicKey: key, signCount: signCount, isBackupEligible: isBackupEligible,
            isBackedUp: isBackedUp, isUserVerificationInitialized: isUserVerified)
    }
}

extension CollectedClientData {
    static func read(_ json: [UInt8], of relyingParty: RelyingParty) throws(RefusedRequest) -> CollectedClientData {
        do throws(CeremonyError) { return try CollectedClientData(json: json) } catch {
            throw error.refusal(in: nil, of: relyingParty)
        }
    }

    /// - Throws: for what isn't base64url: no browser has written it.
    func challengeBytes() throws(RefusedRequest) -> [UInt8] {
        guard let bytes = Base64URL.decode(challenge) else { throw .rejected("challenge is not base64url", .challenge) }
        return bytes
    }
}

extension PasskeyChallengeSpending {
    func spent() throws(RefusedRequest) -> SpentPasskeyChallenge {
        switch self {
        case .spent(let challenge): return challenge
        case .refused(.full(let seconds)): throw .challengesExhausted(retryAfter: seconds)
        case .refused(let refusal): throw .rejected(refusal.detail, .challenge)
        }
    }
}

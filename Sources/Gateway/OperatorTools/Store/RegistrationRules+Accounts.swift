import Admission
import Crypto
import KeyStore
import WebAuthn

/// What registrations and sign-ins store of an account.
extension RegistrationRules {
    func check(_ account: Account, _ faults: inout Faults) {
        faults.expect(account.isWellFormed, "it has more passkeys or devices than it can, or one of an impossible size")
        faults.expect(account.origin.isReadable, "what it ends with can't be read")
        faults.expect(isTime(account.madeAt), "the time when it was made is impossible")
        for (time, name) in [(account.lastUsedAt, "last sign-in"), (account.closedAt, "end")] {
            guard let time else { continue }
            faults.expect(isTime(time), "the time of its \(name) is impossible")
            faults.expect(follows(time, account.madeAt), "the time of its \(name) is before it was made")
        }
        for passkey in account.passkeys { check(passkey, &faults) }
        faults.expect(account.devices.allSatisfy { isTime($0.joinedAt) }, "the time when a device joined is impossible")
    }

    private func check(_ passkey: Passkey, _ faults: inout Faults) {
        faults.expect(
            Array(SHA256.hash(data: passkey.credentialID)) == passkey.mark.bytes,
            "a passkey's mark isn't the SHA-256 of its credential")
        faults.expect(
            (try? CredentialPublicKey(cose: passkey.publicKey)) != nil, "a passkey's public key is none that signs")
        let times = [passkey.madeAt, passkey.lastUsedAt].compactMap(\.self)
        faults.expect(
            times.allSatisfy(isTime) && follows(times.last ?? 0, passkey.madeAt), "a passkey's times are impossible")
    }
}

package import Admission
import Crypto
import DPoP
package import KeyStore
import StrictJSON
import WireText

/// What players do with their accounts: `GET /api/auth/devices`, `POST /api/auth/device`, and the removals, without the
/// HTTP. Not for reactors.
///
/// The caller has counted the request against the limits of its address, and has authenticated the client: only an
/// access token of a sign-in shows an account here.
package struct AccountChanges: Sendable {
    private let services: AccountServices

    package init(_ services: AccountServices) { self.services = services }

    /// The account with its passkeys and devices.
    package func account(of principal: Principal) async -> Result<Account, RefusedRequest> {
        do throws(RefusedRequest) {
            let (id, _) = try signedIn(principal)
            return .success(try await known(id))
        } catch {
            return .failure(error)
        }
    }

    /// - Parameter id: of the credential, base64url.
    package func removePasskey(
        _ id: String, _ request: TokenRequest, of principal: Principal, unless record: AccountAct.Record
    ) async -> Result<Void, RefusedRequest> {
        await change(request, of: principal) { account, remark throws(RefusedRequest) in
            guard let credential = Base64URL.decode(id) else { throw Self.notFound }
            let mark = PasskeyMark.of(credential)
            guard try await known(account).passkeys.contains(where: { $0.mark == mark }) else { throw Self.notFound }
            try Self.note(AccountAct(.passkeyRemoved, of: account, "passkey \(mark.text)", remark), record)
            _ = try await stored { () throws(KeyRegistryError) in
                try await services.store.remove(mark, of: account, at: request.moment.unixMilliseconds)
            }
        }
    }

    /// - Parameter id: of the device's key, base64 or base64url.
    package func removeDevice(
        _ id: String, _ request: TokenRequest, of principal: Principal, unless record: AccountAct.Record
    ) async -> Result<Void, RefusedRequest> {
        await change(request, of: principal) { account, remark throws(RefusedRequest) in
            guard let key = KeyID(text: id) else { throw Self.notFound }
            guard try await known(account).devices.contains(where: { $0.key == key }) else { throw Self.notFound }
            try Self.note(AccountAct(.deviceRemoved, of: account, "key \(key)", remark), record)
            _ = try await stored { () throws(KeyRegistryError) in
                try await services.store.remove(
                    device: key, of: account, at: request.moment.unixMilliseconds)
            }
        }
    }

    package func removeAccount(
        _ request: TokenRequest, of principal: Principal, unless record: AccountAct.Record
    ) async -> Result<Void, RefusedRequest> {
        await change(request, of: principal) { account, remark throws(RefusedRequest) in
            try Self.note(AccountAct(.accountRemoved, of: account, "", remark), record)
            _ = try await stored { () throws(KeyRegistryError) in
                try await services.store.forget(account, at: request.moment.unixMilliseconds)
            }
        }
    }

    private static let notFound = RefusedRequest(Refusal(.notFound, detail: "not one of the account's"))

    private func change(
        _ request: TokenRequest, of principal: Principal,
        _ body: (AccountID, _ remark: String?) async throws(RefusedRequest) -> Void
    ) async -> Result<Void, RefusedRequest> {
        do throws(RefusedRequest) {
            let (account, key) = try signedIn(principal)
            let read = try AccountBody(request.body, maximumBytes: services.maximumBodyBytes)
            let remark = try await FreshPasskey(services).require(read, of: account, key: key, at: request.moment)
            try refuseTooMany(of: account, at: request.moment)
            try await body(account, remark)
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func signedIn(_ principal: Principal) throws(RefusedRequest) -> (AccountID, key: [UInt8]) {
        guard case .account(let id, let key, _) = principal.accountEvidence else {
            throw RefusedRequest(
                Refusal(
                    .freshPasskeyRequired, detail: "not a player who has signed in",
                    reason: "an access token of a sign-in is needed"))
        }
        return (id, key)
    }

    private func refuseTooMany(of account: AccountID, at moment: Moment) throws(RefusedRequest) {
        let refusal = services.signUps.refuseChange(of: account, at: moment.monotonic)
        if let refusal { throw RefusedRequest(refusal) }
    }

    private func known(_ id: AccountID) async throws(RefusedRequest) -> Account {
        let account = try await stored { () throws(KeyRegistryError) in try await services.store.account(id) }
        guard let account else { throw Self.notFound }
        return account
    }

    private static func note(_ act: AccountAct, _ record: AccountAct.Record) throws(RefusedRequest) {
        if let refusal = record(act) { throw RefusedRequest(refusal) }
    }
}

// MARK: A device joins

extension AccountChanges {
    /// The challenge for the device's assertion: it is bound to the account. Nothing is stored.
    package func deviceChallenge(
        _ request: TokenRequest, of principal: Principal
    ) -> Result<DeviceChallenge, RefusedRequest> {
        do throws(RefusedRequest) {
            let (account, _) = try signedIn(principal)
            let challenge = services.challenges.issue(for: .device, binding: account.bytes, at: request.moment)
            return .success(DeviceChallenge(bytes: challenge, account: account))
        } catch {
            return .failure(error)
        }
    }

    /// The body has `passkey`, as for every change, `assertion` with `keyId`, `data` and `challenge`, and perhaps
    /// `label`. The assertion is over ``DeviceChallenge/clientDataHash``.
    package func joinDevice(
        _ request: TokenRequest, of principal: Principal, unless record: AccountAct.Record
    ) async -> Result<KeyID, RefusedRequest> {
        do throws(RefusedRequest) {
            let (account, key) = try signedIn(principal)
            guard let devices = services.tokens.devices else {
                throw RefusedRequest(Refusal(.appAttestNotConfigured, detail: "App Attest is not configured"))
            }
            let body = try AccountBody(request.body, maximumBytes: services.maximumBodyBytes)
            let assertion = try DeviceAssertion(try body.object("assertion"), devices)
            let label = try body.label()
            let remark = try await FreshPasskey(services).require(body, of: account, key: key, at: request.moment)
            let challenge = try services.challenges.spend(
                assertion.challenge, for: .device, binding: account.bytes, at: request.moment.monotonic
            ).spent()
            let id = try await devices.verifyDevice(
                assertion.id, assertion.object,
                over: DeviceChallenge(bytes: assertion.challenge, account: account).clientDataHash,
                spending: challenge, asking: services.keys, at: request.moment)
            try refuseTooMany(of: account, at: request.moment)
            try Self.note(AccountAct(.deviceJoined, of: account, "key \(id)", remark), record)
            let device = AccountDevice(key: id, label: label, joinedAt: request.moment.unixMilliseconds)
            let joining = try await stored { () throws(KeyRegistryError) in
                try await services.store.join(device, to: account)
            }
            try Self.conclude(joining)
            return .success(id)
        } catch {
            return .failure(error)
        }
    }

    private static func conclude(_ joining: DeviceJoining) throws(RefusedRequest) {
        switch joining {
        case .joined, .alreadyJoined: return
        case .taken: throw RefusedRequest(Refusal(.deviceTaken, detail: "the device is another account's"))
        case .tooMany: throw RefusedRequest(Refusal(.tooManyDevices, detail: "the account has its devices"))
        case .unknownDevice:
            throw RefusedRequest(Refusal(.unknownKey, detail: "the key is gone, or revoked, meanwhile"))
        case .closed, .unknownAccount:
            throw RefusedRequest(
                Refusal(.deviceBlocked, detail: "the account has ended meanwhile", failed: FailedCheck(.account)))
        }
    }
}

/// A challenge for a device that joins an account.
package struct DeviceChallenge: Sendable {
    package let bytes: [UInt8]
    package let account: AccountID

    /// What the device signs: no other assertion of it is over the same, whatever challenge that is for.
    var clientDataHash: [UInt8] {
        Array(SHA256.hash(data: Array("portcullis account device\0".utf8) + bytes + account.bytes))
    }
}

/// A device's assertion over a challenge of its own.
struct DeviceAssertion: Sendable {
    let id: KeyID
    let object: [UInt8]
    let challenge: [UInt8]

    init(_ object: JSONObject, _ devices: AppAttestSettings) throws(RefusedRequest) {
        guard let id = object["keyId"]?.string.flatMap({ KeyID(text: $0) }) else {
            throw .malformed("assertion.keyId is not base64 of 32 bytes")
        }
        let data = object["data"]?.string.flatMap {
            Base64.decode($0, maximumBytes: devices.maximumAssertionBytes)
        }
        guard let data else { throw .malformed("assertion.data is not base64, or too long") }
        guard let challenge = object["challenge"]?.string.flatMap({ Base64URL.decode($0) }) else {
            throw .malformed("assertion.challenge is not base64url")
        }
        (self.id, self.object, self.challenge) = (id, data, challenge)
    }
}

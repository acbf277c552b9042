import Foundation

/// Keeps the refresh token, sealed. A successor is stored before anything that came with it is used: after a crash the
/// store has the newest token, or the one before, which the gate repeats.
actor RefreshCustody {
    private enum Stored: Codable {
        case token(SealedToken)
        case missing(SignInReason)
    }

    private let unlock: any LocalUnlock
    private let secrets: any SecretStore
    private let name: String
    private var key: UnlockedKey?
    /// One dialog at a time.
    private let dialogs = Turnstile()

    init(_ configuration: GateConfiguration, _ platform: ClientPlatform) {
        (unlock, secrets) = (platform.unlock, platform.secrets)
        name = StoredName.of("refresh-token", configuration)
    }

    /// Nil: there is a token.
    func reason() throws -> SignInReason? {
        switch try stored() {
        case .token: nil
        case .missing(let reason): reason
        }
    }

    // MARK: Begin and end

    /// Stores the first token of a family. The player chooses how to unlock it.
    func begin(_ token: String) async throws {
        guard !(unlock is NoLocalUnlock) else { return }
        try await dialogs.pass { try await self.store(first: token) }
    }

    private func store(first token: String) async throws {
        let restoration = try await unlock.makeKey()
        let salt = Data((0..<UnlockedKey.saltBytes).map { _ in UInt8.random(in: .min ... .max) })
        let pin = try await unlock.pin(attemptsLeft: nil)
        let secret = try await unlock.secret(of: restoration, salt: salt)
        let key = try UnlockedKey(secret: secret, pin: pin, salt: salt)
        try write(
            .token(SealedToken(restoration: restoration, salt: salt, hasPIN: pin != nil, sealed: try key.seal(token))))
        self.key = key
    }

    func clear(_ reason: SignInReason) throws {
        key = nil
        try write(.missing(reason))
    }

    // MARK: Use

    /// The token, after an unlock if this process hasn't had one; nil: there is none.
    func token() async throws -> String? { try await dialogs.pass { try await self.opened() } }

    private func opened() async throws -> String? {
        guard case .token(let token) = try stored() else { return nil }
        if let key, let text = key.open(token.sealed) { return text }
        return try await unlocked(token)
    }

    private func unlocked(_ stored: SealedToken) async throws -> String? {
        var token = stored
        let left = SealedToken.maximumWrongPINs - token.wrongPINs
        guard left > 0 else { return try lost(.tooManyWrongPINs, .wrongPIN(attemptsLeft: 0)) }
        let pin = token.hasPIN ? try await unlock.pin(attemptsLeft: left) : nil
        let secret: Data
        do { secret = try await unlock.secret(of: token.restoration, salt: token.salt) } catch UnlockFailure.keyGone {
            return try lost(.unlockLost, .keyGone)
        }
        // A log-out, or a sign-in, may have come meanwhile.
        guard case .token(let now) = try self.stored(), now.sealed == token.sealed else { return nil }
        if token.hasPIN {
            token.wrongPINs += 1
            try write(.token(token))
        }
        let key = try UnlockedKey(secret: secret, pin: token.hasPIN ? pin ?? "" : nil, salt: token.salt)
        guard let text = key.open(token.sealed) else {
            guard token.hasPIN else { return try lost(.unlockLost, .keyGone) }
            guard left > 1 else { return try lost(.tooManyWrongPINs, .wrongPIN(attemptsLeft: 0)) }
            throw UnlockFailure.wrongPIN(attemptsLeft: left - 1)
        }
        token.wrongPINs = 0
        try write(.token(token))
        self.key = key
        return text
    }

    private func lost(_ reason: SignInReason, _ failure: UnlockFailure) throws -> String? {
        try clear(reason)
        throw failure
    }

    /// Stores the successor in the place of the token that was used.
    ///
    /// - Returns: false: another token, or none, is there now, as after a log-out meanwhile.
    func replace(_ used: String, by successor: String) throws -> Bool {
        guard case .token(var token) = try stored(), let key, let kept = key.open(token.sealed), kept.isSame(as: used)
        else { return false }
        token.sealed = try key.seal(successor)
        try write(.token(token))
        return true
    }

    /// Forgets a token that the gate has refused, unless another one is there now.
    func drop(_ refused: String) throws {
        guard case .token(let token) = try stored(), let kept = key?.open(token.sealed), kept.isSame(as: refused)
        else { return }
        try clear(.ended)
    }

    // MARK: Storage

    private func stored() throws -> Stored {
        let kept: Data?
        do { kept = try secrets.read(name) } catch { throw GateError.storage("\(error)") }
        guard let kept else { return .missing(.notSignedIn) }
        return (try? JSONDecoder().decode(Stored.self, from: kept)) ?? .missing(.unlockLost)
    }

    private func write(_ value: Stored) throws {
        do { try secrets.write(name, try JSONEncoder().encode(value)) } catch { throw GateError.storage("\(error)") }
    }
}

import Foundation

/// Keeps the refresh token, sealed. A successor is stored before anything that came with it is used: after a crash the
/// store has the newest token, or the one before, which the gate repeats.
///
/// A token is cleared when the player logs out or signs in again, when the gate has refused it, after five wrong PINs,
/// and when its wrapping key never comes back. Nothing else clears it; without a ``LocalUnlock`` nothing is stored, and
/// only a log-out clears what is there.
actor RefreshCustody {
    private enum Stored: Codable {
        case token(SealedToken)
        case missing(SignInReason)
    }

    private let unlock: any LocalUnlock
    private let secrets: any SecretStore
    private let name: String
    private let rounds: Int
    private var key: UnlockedKey?
    /// Of the last clearing, if the store didn't take it.
    private var unwritten: SignInReason?
    private var clearings = 0
    /// One dialog at a time.
    private let dialogs = Turnstile()

    init(_ configuration: GateConfiguration, _ platform: ClientPlatform) {
        (unlock, secrets, rounds) = (platform.unlock, platform.secrets, platform.pinRounds)
        name = StoredName.of("refresh-token", configuration)
    }

    private var hasUnlock: Bool { !(unlock is NoLocalUnlock) }

    /// Nil: there is a token.
    ///
    /// - Parameter time: of the server, in seconds since 1970.
    func reason(at time: Double) throws -> SignInReason? {
        switch try stored() {
        case .missing(let reason): reason
        case .token where !hasUnlock: .noUnlock
        case .token(let token): token.isOver(at: time) ? .expired : nil
        }
    }

    // MARK: Begin and end

    /// Stores the first token of a family instead of what was there, which may be another player's. The player chooses
    /// how to unlock it.
    ///
    /// - Parameter token: nil: the gate has given none.
    func begin(_ token: RefreshToken?) async throws {
        guard hasUnlock else { return }
        try clear(.notSignedIn)
        if let token { try await dialogs.pass { try await self.store(first: token) } }
    }

    private func store(first token: RefreshToken) async throws {
        let clearings = clearings
        let restoration = try await asked { try await unlock.makeKey() }
        let salt = Data((0..<UnlockedKey.saltBytes).map { _ in UInt8.random(in: .min ... .max) })
        let pin = try await asked { try await unlock.pin(attemptsLeft: nil) }
        let secret = try await asked { try await unlock.secret(of: restoration, salt: salt) }
        // A log-out may have come meanwhile.
        guard clearings == self.clearings else { throw UnlockFailure.cancelled }
        let key = try UnlockedKey(secret: secret, pin: pin, salt: salt, rounds: rounds)
        try write(
            .token(
                SealedToken(
                    restoration: restoration, salt: salt, hasPIN: pin != nil, sealed: try key.seal(token.text),
                    end: token.end)))
        self.key = key
    }

    /// Forgets the token. It isn't used any more, even if the store doesn't take that.
    func clear(_ reason: SignInReason) throws {
        key = nil
        clearings += 1
        unwritten = reason
        try write(.missing(reason))
    }

    // MARK: Use

    /// The token, after an unlock if this process hasn't had one; nil: there is none that can be used.
    ///
    /// - Parameter time: of the server, in seconds since 1970.
    func token(at time: Double) async throws -> String? {
        guard hasUnlock else { return nil }
        return try await dialogs.pass { try await self.opened(at: time) }
    }

    private func opened(at time: Double) async throws -> String? {
        guard case .token(let token) = try stored(), !token.isOver(at: time) else { return nil }
        if let text = key?.open(token.sealed) { return text }
        return try await unlocked(token)
    }

    private func unlocked(_ stored: SealedToken) async throws -> String? {
        let left = SealedToken.maximumWrongPINs - stored.wrongPINs
        guard left > 0 else { throw try lost(.tooManyWrongPINs, .wrongPIN(attemptsLeft: 0)) }
        let pin = stored.hasPIN ? try await typedPIN(attemptsLeft: left) : nil
        let secret: Data
        do {
            secret = try await asked { try await unlock.secret(of: stored.restoration, salt: stored.salt) }
        } catch UnlockFailure.keyGone {
            throw try lost(.unlockLost, .keyGone, unlessChanged: stored)
        }
        // A log-out, or a sign-in, may have come meanwhile.
        guard case .token(var token) = try self.stored(), token.sealed == stored.sealed else { return nil }
        let key = try UnlockedKey(secret: secret, pin: pin, salt: token.salt, rounds: rounds)
        if token.hasPIN {
            token.wrongPINs += 1
            try write(.token(token))
        }
        guard let text = key.open(token.sealed) else { throw try failed(token) }
        if token.hasPIN {
            token.wrongPINs = 0
            try write(.token(token))
        }
        self.key = key
        return text
    }

    private func typedPIN(attemptsLeft left: Int) async throws -> String {
        // The app may ask for no PIN any more: then the player signs in again.
        guard let pin = try await asked({ try await unlock.pin(attemptsLeft: left) }) else {
            throw UnlockFailure.cancelled
        }
        return pin
    }

    /// Any other error of an unlock isn't one of the network, after which the dialog would be shown again.
    private func asked<Value: Sendable>(_ call: () async throws -> Value) async throws -> Value {
        do { return try await call() } catch let error as UnlockFailure { throw error } catch is CancellationError {
            throw UnlockFailure.cancelled
        } catch { throw UnlockFailure.other(-1) }
    }

    /// The key doesn't open the token.
    private func failed(_ token: SealedToken) throws -> UnlockFailure {
        guard token.hasPIN else { return try lost(.unlockLost, .keyGone) }
        let left = SealedToken.maximumWrongPINs - token.wrongPINs
        return left > 0 ? .wrongPIN(attemptsLeft: left) : try lost(.tooManyWrongPINs, .wrongPIN(attemptsLeft: 0))
    }

    private func lost(
        _ reason: SignInReason, _ failure: UnlockFailure, unlessChanged token: SealedToken? = nil
    ) throws -> UnlockFailure {
        if let token {
            guard case .token(let now) = try stored(), now.sealed == token.sealed else { return .cancelled }
        }
        try clear(reason)
        return failure
    }

    /// Stores the successor in the place of the token that was used.
    ///
    /// - Returns: false: another token, or none, is there now, as after a log-out meanwhile.
    func replace(_ used: String, by successor: RefreshToken) throws -> Bool {
        guard case .token(var token) = try stored(), let key, let kept = key.open(token.sealed) else { return false }
        // Another process of the app may have stored it already.
        if kept.isSame(as: successor.text) { return true }
        guard kept.isSame(as: used) else { return false }
        (token.sealed, token.end) = (try key.seal(successor.text), successor.end)
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
        if let unwritten { return .missing(unwritten) }
        let kept: Data?
        do { kept = try secrets.read(name) } catch { throw GateError.storage("\(error)") }
        guard let kept else { return .missing(.notSignedIn) }
        return (try? JSONDecoder().decode(Stored.self, from: kept)) ?? .missing(.unlockLost)
    }

    private func write(_ value: Stored) throws {
        do { try secrets.write(name, try JSONEncoder().encode(value)) } catch { throw GateError.storage("\(error)") }
        unwritten = nil
    }
}

import Foundation

/// The App Attest key of this installation, which all dialects use.
///
/// Only the identifier is kept here, in the keychain, and only after the gate has confirmed the registration. There is
/// one registration at a time, whichever dialect began it.
actor AttestedKey {
    /// Longer, or with other characters, it isn't one of Apple's.
    static let maximumIdentifierBytes = 256

    /// A key, and whether it was registered by this call or while it waited.
    struct Registered: Sendable {
        let identifier: String
        let isNew: Bool
    }

    private enum Stage {
        /// The keychain wasn't read yet.
        case unread
        case none
        /// The answer to its registration was lost: an assertion tells whether the gate knows it. It isn't kept yet.
        case assumed(String)
        case registered(String)
    }

    private let service: any AppAttestService
    private let secrets: any SecretStore
    private let clock: any ClientClock
    private let limits: ClientLimits
    private let log: ClientLog
    private let name: String
    private let attempts: OperationGuard
    /// Finished without callers, too: what Apple or the gate has done is good once.
    private let flight = SingleFlight<Registered>(isFinishedAlways: true)
    private var stage = Stage.unread
    /// Made, and not registered yet. It is used again after a failure that passes: Apple counts new keys.
    private var pending: String?
    /// Of the pending key.
    private var held: HeldRegistration?
    /// Keys that weren't accepted: without a limit a gate that forgets each key at once would have a new one made for
    /// every call.
    private var renewals = CircuitBreaker()

    init(_ configuration: GateConfiguration, _ platform: ClientPlatform, attempts: OperationGuard) {
        (service, secrets, clock) = (platform.appAttest, platform.secrets, platform.clock)
        (limits, log) = (configuration.limits, ClientLog(configuration, platform))
        name = StoredName.of("app-attest-key", configuration)
        self.attempts = attempts
    }

    // MARK: Registration

    /// The registered key, or nil.
    func current() throws -> String? {
        switch stage {
        case .registered(let identifier), .assumed(let identifier): return identifier
        case .none: return nil
        case .unread: break
        }
        let stored = try read().map { String(decoding: $0, as: UTF8.self) }.flatMap(Self.checked)
        stage = stored.map { .registered($0) } ?? .none
        return stored
    }

    /// The gate has confirmed the key.
    private var isRegistered: Bool { if case .registered = stage { true } else { false } }

    private func read() throws -> Data? {
        do { return try secrets.read(name) } catch { throw GateError.storage("\(error)") }
    }

    private static func checked(_ identifier: String) -> String? {
        (1...maximumIdentifierBytes).contains(identifier.utf8.count) && identifier.utf8.allSatisfy(\.isVisibleASCII)
            ? identifier : nil
    }

    /// The registered key. Without one, a new key is made and registered.
    func registered(by dialect: KeyRegistration) async throws -> Registered {
        guard service.isSupported else { throw GateError.appAttestUnsupported }
        if let identifier = try current() { return Registered(identifier: identifier, isNew: false) }
        return try await flight.run { [self] in
            if let identifier = try await current() {
                return Registered(identifier: identifier, isNew: await isRegistered)
            }
            return try await attempts.run { try await self.makeAndRegister(dialect) }
        }
    }

    /// A key that can't be attested is replaced once.
    private func makeAndRegister(_ dialect: KeyRegistration) async throws -> Registered {
        do {
            return try await registerPending(dialect)
        } catch let error where GateError(wrapping: error).wantsNewKey {
            log.warning("the App Attest key can't be registered; making another one: \(GateError(wrapping: error))")
            (pending, held) = (nil, nil)
            return try await registerPending(dialect)
        }
    }

    /// What was begun is repeated while its challenge is usable. After that, or when the gate refuses the challenge,
    /// the key is tried if it may be registered, and otherwise registered from the beginning.
    private func registerPending(_ dialect: KeyRegistration) async throws -> Registered {
        let identifier = try await pendingKey()
        guard let begun = held else { return try await begin(identifier, dialect) }
        if begun.challenge.isUsable(at: clock.now) {
            do {
                return try await finish(begun)
            } catch let error as GateError where error.refusal?.reaction == .newChallenge {
                log.info("the challenge of a repeated registration isn't accepted")
            }
        }
        return begun.mayBeRegistered ? assume(identifier) : try await begin(identifier, dialect)
    }

    private func begin(_ identifier: String, _ dialect: KeyRegistration) async throws -> Registered {
        held = nil
        let (challenge, hash) = try await dialect.challenge()
        let begun = HeldRegistration(identifier, challenge, hash, dialect)
        held = begun
        return try await finish(begun)
    }

    private func finish(_ begun: HeldRegistration) async throws -> Registered {
        var begun = begun
        do {
            let attestation: [UInt8]
            if let made = begun.attestation {
                attestation = made
            } else {
                attestation = try await attest(begun.identifier, clientDataHash: begun.hash)
            }
            begun.attestation = attestation
            replace(begun, by: begun)
            try await begun.dialect.send(begun.identifier, begun.challenge, attestation)
        } catch {
            replace(begun, by: begun.left(after: GateError(wrapping: error)))
            throw error
        }
        log.info("registered the App Attest key \(Digest.fingerprint(begun.identifier))")
        // Unless the user has had it forgotten meanwhile.
        if held?.isSame(as: begun) == true {
            (pending, held) = (nil, nil)
            keep(begun.identifier)
        }
        return Registered(identifier: begun.identifier, isNew: true)
    }

    /// Unless another attempt has begun meanwhile: one that was cancelled may end after that.
    private func replace(_ begun: HeldRegistration, by next: HeldRegistration?) {
        if held?.isSame(as: begun) == true { held = next }
    }

    private func assume(_ identifier: String) -> Registered {
        log.warning("the App Attest key \(Digest.fingerprint(identifier)) may be registered; trying it")
        (pending, held, stage) = (nil, nil, .assumed(identifier))
        return Registered(identifier: identifier, isNew: false)
    }

    /// The gate has accepted an assertion.
    private func confirm(_ identifier: String) {
        if case .assumed(let assumed) = stage, assumed.isSame(as: identifier) { keep(identifier) }
    }

    private func keep(_ identifier: String) {
        stage = .registered(identifier)
        do {
            try secrets.write(name, Data(identifier.utf8))
        } catch {
            // It is good until the app ends; the next start registers another one.
            log.error("the keychain didn't keep the App Attest key: \(error)")
        }
    }

    private func pendingKey() async throws -> String {
        if let pending { return pending }
        log.info("making an App Attest key")
        let made = try await clock.limit(limits.appleCall, .generateKey) { [service] in try await service.generateKey()
        }
        guard let identifier = Self.checked(made) else { throw AppAttestFailure.other(-1) }
        pending = identifier
        return identifier
    }

    /// Forgets a key that the gate or the device doesn't accept any more, unless it was replaced meanwhile.
    func discard(_ identifier: String) {
        guard let current = try? current(), current.isSame(as: identifier) else { return }
        log.warning("discarding the App Attest key \(Digest.fingerprint(identifier))")
        stage = .none
        do { try secrets.delete(name) } catch { log.error("the keychain didn't delete the App Attest key: \(error)") }
    }

    /// Discards a key that wasn't accepted, unless that has happened too often. A key that another caller has discarded
    /// already counts once, however many have used it.
    func mayRenew(_ identifier: String) -> Bool {
        guard let current = try? current(), current.isSame(as: identifier) else { return true }
        guard renewals.wait(at: clock.now) == nil else { return false }
        renewals.failed(at: clock.now)
        discard(identifier)
        return true
    }

    /// Seconds until a key may be renewed again; nil: now.
    var renewalWait: Double? { renewals.wait(at: clock.now) }

    /// A key was accepted, or the user wants another attempt.
    func allowRenewals() { renewals.reset() }

    func clear() {
        (pending, held) = (nil, nil)
        if let identifier = try? current() { discard(identifier) }
    }

    // MARK: Apple's calls

    func attest(_ identifier: String, clientDataHash hash: [UInt8]) async throws -> [UInt8] {
        let attestation = try await clock.limit(limits.appleCall, .attestKey) { [service] in
            try await service.attestKey(identifier, clientDataHash: Data(hash))
        }
        log.info("Apple attested the key \(Digest.fingerprint(identifier)): \(attestation.count) bytes")
        return Array(attestation)
    }

    func assert(_ identifier: String, clientDataHash hash: [UInt8]) async throws -> [UInt8] {
        let assertion = try await clock.limit(limits.appleCall, .generateAssertion) { [service] in
            try await service.generateAssertion(identifier, clientDataHash: Data(hash))
        }
        return Array(assertion)
    }
}

extension AttestedKey {
    /// Does something with the registered key. If the key turns out to be no longer good, a new one is registered and
    /// it is done once more; a key that was registered just now isn't replaced.
    ///
    /// - Parameter proves: whether a result shows that the gate knows the key.
    func use<Value: Sendable>(
        registeredBy dialect: KeyRegistration, proves: @Sendable (Value) -> Bool = { _ in true },
        _ body: @Sendable (_ identifier: String) async throws -> Value
    ) async throws -> Value {
        let key = try await registered(by: dialect)
        do {
            return try await used(key.identifier, proves, body)
        } catch let error where !key.isNew && GateError(wrapping: error).wantsNewKey {
            log.warning("the App Attest key isn't accepted: \(GateError(wrapping: error))")
            guard mayRenew(key.identifier) else {
                throw GateError.circuitOpen(.registration, retryAfter: renewalWait ?? 0)
            }
            return try await used(try await registered(by: dialect).identifier, proves, body)
        }
    }

    private func used<Value: Sendable>(
        _ identifier: String, _ proves: @Sendable (Value) -> Bool,
        _ body: @Sendable (_ identifier: String) async throws -> Value
    ) async throws -> Value {
        let value = try await body(identifier)
        if proves(value) {
            allowRenewals()
            confirm(identifier)
        }
        return value
    }
}

extension GateError {
    /// Whether a new App Attest key helps.
    var wantsNewKey: Bool {
        switch self {
        case .appAttest(let failure): failure.wantsNewKey
        case .refused(let refusal): refusal.reaction == .newKey
        default: false
        }
    }
}

/// Names of what is kept, so that one app can use several gates.
enum StoredName {
    static func of(_ what: String, _ configuration: GateConfiguration) -> String {
        let parts = [configuration.address.origin, configuration.teamIdentifier, configuration.bundleIdentifier]
        return "\(what).\(BinaryText.hexadecimal(Digest.sha256(Array(parts.joined(separator: "\n").utf8)).prefix(8)))"
    }
}

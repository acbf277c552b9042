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
        case registered(String)
    }

    private let service: any AppAttestService
    private let secrets: any SecretStore
    private let clock: any ClientClock
    private let limits: ClientLimits
    private let log: ClientLog
    private let name: String
    private let attempts: OperationGuard
    private let flight = SingleFlight<Registered>()
    private var stage = Stage.unread
    /// Made, and not registered yet. It is used again after a failure that passes: Apple counts new keys.
    private var pending: String?
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
        case .registered(let identifier): return identifier
        case .none: return nil
        case .unread: break
        }
        let stored = try read().map { String(decoding: $0, as: UTF8.self) }.flatMap(Self.checked)
        stage = stored.map { .registered($0) } ?? .none
        return stored
    }

    private func read() throws -> Data? {
        do { return try secrets.read(name) } catch { throw GateError.storage("\(error)") }
    }

    private static func checked(_ identifier: String) -> String? {
        (1...maximumIdentifierBytes).contains(identifier.utf8.count) && identifier.utf8.allSatisfy(\.isVisibleASCII)
            ? identifier : nil
    }

    /// The registered key. Without one, a new key is made and registered.
    ///
    /// - Parameter register: attests the key and sends it to the gate; it may be called again with another key.
    func registered(_ register: @escaping @Sendable (_ identifier: String) async throws -> Void) async throws
        -> Registered
    {
        guard service.isSupported else { throw GateError.appAttestUnsupported }
        if let identifier = try current() { return Registered(identifier: identifier, isNew: false) }
        return try await flight.run { [self] in
            if let identifier = try await current() { return Registered(identifier: identifier, isNew: true) }
            return try await attempts.run {
                Registered(identifier: try await self.makeAndRegister(register), isNew: true)
            }
        }
    }

    /// A key that can't be attested is replaced once.
    private func makeAndRegister(_ register: @Sendable (_ identifier: String) async throws -> Void) async throws
        -> String
    {
        do {
            return try await registerPending(register)
        } catch let error where GateError(wrapping: error).wantsNewKey {
            log.warning("the App Attest key can't be registered; making another one: \(GateError(wrapping: error))")
            pending = nil
            return try await registerPending(register)
        }
    }

    private func registerPending(_ register: @Sendable (_ identifier: String) async throws -> Void) async throws
        -> String
    {
        let identifier = try await pendingKey()
        try await register(identifier)
        pending = nil
        stage = .registered(identifier)
        log.info("registered the App Attest key \(Digest.fingerprint(identifier))")
        do {
            try secrets.write(name, Data(identifier.utf8))
        } catch {
            // It is good until the app ends; the next start registers another one.
            log.error("the keychain didn't keep the App Attest key: \(error)")
        }
        return identifier
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
        pending = nil
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
    func use<Value: Sendable>(
        registeredBy register: @escaping @Sendable (_ identifier: String) async throws -> Void,
        _ body: @Sendable (_ identifier: String) async throws -> Value
    ) async throws -> Value {
        let key = try await registered(register)
        do {
            return try await used(key.identifier, body)
        } catch let error where !key.isNew && GateError(wrapping: error).wantsNewKey {
            log.warning("the App Attest key isn't accepted: \(GateError(wrapping: error))")
            guard mayRenew(key.identifier) else {
                throw GateError.circuitOpen(.registration, retryAfter: renewalWait ?? 0)
            }
            return try await used(try await registered(register).identifier, body)
        }
    }

    private func used<Value: Sendable>(
        _ identifier: String, _ body: @Sendable (_ identifier: String) async throws -> Value
    ) async throws -> Value {
        let value = try await body(identifier)
        allowRenewals()
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

import Foundation

/// The first dialect: an assertion for each connection.
///
/// ``GatedConnection`` uses it by itself with ``Admission/assertion``. An app that opens its own WebSocket calls
/// ``assertionHeaders()`` before each upgrade, and ``react(toUpgradeStatus:headers:)`` after each refusal.
public actor ConnectionAssertions {
    /// Names of header fields.
    enum Field {
        static let keyID = "X-App-Assert-KeyId"
        static let data = "X-App-Assert-Data"
        static let nonce = "X-App-Assert-Nonce"
        /// In a refusal: the next challenge.
        static let challenge = "X-App-Assert-Challenge"
    }

    static let challengeBytes = 32

    private let key: AttestedKey
    private let caller: GateCaller
    private let clock: any ClientClock
    /// Counters have to arrive in order, so one assertion is under way at a time.
    private let turnstile = Turnstile()
    /// Of the last refusal.
    private var nextChallenge: HeldChallenge?

    init(_ key: AttestedKey, _ caller: GateCaller, _ clock: any ClientClock) {
        (self.key, self.caller, self.clock) = (key, caller, clock)
    }

    /// Whether this installation has a registered key.
    public var isRegistered: Bool {
        get async { (try? await key.current()) != nil }
    }

    /// Makes a key, has Apple attest it, and registers it with the gate, unless that was done before. Call it in the
    /// background at the first launch: it takes some seconds. A key whose registration may have arrived counts as
    /// registered until the gate says that it doesn't know it.
    public func registerIfNeeded() async throws(GateError) {
        do { _ = try await key.registered(by: registration) } catch { throw GateError(wrapping: error) }
    }

    /// The three header fields of an upgrade. They are good for one upgrade, within half a minute.
    public func assertionHeaders() async throws(GateError) -> [String: String] {
        do {
            let fields = try await key.use(registeredBy: registration, proves: { _ in false }) {
                try await self.fields($0)
            }
            return Dictionary(fields.fields.map { ($0.name, $0.value) }) { $1 }
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// Tells the library that an upgrade with ``assertionHeaders()`` was refused. It keeps the challenge of the refusal
    /// for the next attempt, and forgets a key that the gate doesn't know.
    ///
    /// - Returns: what to do. After ``Reaction/newKey`` and ``Reaction/newChallenge`` ask for new headers and try once
    ///   more.
    public func react(toUpgradeStatus status: Int, headers: [String: String]) async -> Reaction {
        let response = GateResponse(status: status, headers: HeaderFields(headers.map { ($0.key, $0.value) }))
        keepChallenge(response)
        guard let reaction = caller.error(for: response).refusal?.reaction else { return .fixConfiguration }
        guard reaction == .newKey, let identifier = try? await key.current() else { return reaction }
        return await key.mayRenew(identifier) ? .newKey : .wait
    }

    /// Forgets the key. The next use makes and registers a new one.
    public func clearAttestKey() async { await key.clear() }

    // MARK: Steps

    private nonisolated var registration: KeyRegistration {
        KeyRegistration { [weak self] in
            guard let challenge = try await self?.challenge() else { throw CancellationError() }
            return (challenge, Digest.sha256(challenge.bytes))
        } send: { [caller] identifier, challenge, attestation in
            let body = JSONText.object {
                $0.add("keyId", identifier)
                $0.add("attestation", BinaryText.base64(attestation))
                $0.add("nonce", challenge.text)
            }
            let response = try await caller.post("/attest/register", body)
            guard response.status == 200 else { throw caller.error(for: response) }
        }
    }

    private func fields(_ identifier: String) async throws -> HeaderFields {
        let challenge = try await challenge()
        let assertion = try await key.assert(identifier, clientDataHash: Digest.sha256(challenge.bytes))
        return [
            Field.keyID: identifier, Field.data: BinaryText.base64(assertion), Field.nonce: challenge.text,
        ]
    }

    /// That of the last refusal, or a fresh one. Each is used once.
    private func challenge() async throws -> HeldChallenge {
        if let next = nextChallenge {
            nextChallenge = nil
            if next.isUsable(at: clock.now) { return next }
        }
        let local = clock.date.timeIntervalSince1970
        let response = try await caller.send("GET", "/attest/challenge")
        let members = try caller.members(of: response)
        guard let challenge = try held(members, response, local: local) else {
            throw GateError.malformedAnswer(.member("nonce"))
        }
        return challenge
    }

    /// `expires` is a text of milliseconds, or a number in other servers of this dialect.
    private func held(_ members: JSONMembers, _ response: GateResponse, local: Double) throws -> HeldChallenge? {
        guard let text = members.string("nonce"), let bytes = Self.bytes(text) else { return nil }
        let expiry = members.integer("expires").map(Double.init) ?? members.string("expires").flatMap { Double($0) }
        return HeldChallenge(
            text, bytes: bytes, expiry: expiry.map { $0 / 1_000 },
            serverTime: response.headers["Date"].flatMap { TimeText.seconds(httpDate: $0) }.map(Double.init),
            localTime: local, received: clock.now)
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        guard text.utf8.count == 2 * challengeBytes else { return nil }
        return BinaryText.bytes(hexadecimal: text)
    }

    /// A refused upgrade brings the next challenge.
    private func keepChallenge(_ response: GateResponse) {
        guard let text = response.headers[Field.challenge], let bytes = Self.bytes(text) else { return }
        nextChallenge = HeldChallenge(text, bytes: bytes, received: clock.now)
    }
}

// MARK: For accounts

extension ConnectionAssertions {
    /// Sends a request of the gate's own with an assertion. A challenge that wasn't accepted is replaced once, and so
    /// is an unknown key.
    func perform(
        _ send: @escaping @Sendable (HeaderFields) async throws -> GateResponse
    ) async throws -> GateResponse {
        try await turnstile.pass {
            try await self.key.use(registeredBy: self.registration, proves: { $0.refusal == nil }) { identifier in
                do {
                    return try await self.attempt(identifier, send)
                } catch let error as GateError where error.refusal?.reaction == .newChallenge {
                    return try await self.attempt(identifier, send)
                }
            }
        }
    }

    /// Only a refusal that a new key or a new challenge helps against is an error.
    private func attempt(
        _ identifier: String, _ send: @Sendable (HeaderFields) async throws -> GateResponse
    ) async throws -> GateResponse {
        let response = try await send(try await fields(identifier))
        let reaction = response.refusal?.reaction
        guard reaction != .newKey, reaction != .newChallenge else { throw caller.error(for: response) }
        return response
    }

    /// Does something with the registered key, and once more with a new one if the gate doesn't know it.
    func use<Value: Sendable>(_ body: @Sendable (_ identifier: String) async throws -> Value) async throws -> Value {
        try await key.use(registeredBy: registration, body)
    }

    /// Signs a statement, and has the assertion sent before another one is made.
    func sign<Value: Sendable>(
        _ statement: [UInt8], by identifier: String, _ send: @Sendable (_ assertion: [UInt8]) async throws -> Value
    ) async throws -> Value {
        try await turnstile.pass {
            try await send(try await self.key.assert(identifier, clientDataHash: Digest.sha256(statement)))
        }
    }
}

// MARK: For connections

extension ConnectionAssertions {
    /// Opens a WebSocket with an assertion. A challenge that wasn't accepted is replaced once, and so is an unknown
    /// key.
    func open(
        _ attempt: @escaping @Sendable (HeaderFields) async throws -> any WebSocketChannel
    ) async throws -> any WebSocketChannel {
        try await turnstile.pass {
            try await self.key.use(registeredBy: self.registration) { identifier in
                do {
                    return try await self.open(identifier, attempt)
                } catch let error as GateError where error.refusal?.reaction == .newChallenge {
                    return try await self.open(identifier, attempt)
                }
            }
        }
    }

    private func open(
        _ identifier: String, _ attempt: @Sendable (HeaderFields) async throws -> any WebSocketChannel
    ) async throws -> any WebSocketChannel {
        let fields = try await fields(identifier)
        do {
            return try await attempt(fields)
        } catch let refused as UpgradeRefusal {
            keepChallenge(refused.response)
            throw caller.error(for: refused.response)
        }
    }
}

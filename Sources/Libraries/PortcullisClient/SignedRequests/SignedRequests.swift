public import Foundation

/// The third dialect: each request is signed with App Attest.
///
/// ```swift
/// let response = try await client.signedRequests.perform(path: "preferences", method: .put, body: body)
/// ```
///
/// The gate answers registrations with the next challenge, and this type keeps it. When the gate doesn't know the key
/// any more, a new one is registered and the request is sent once more.
public actor SignedRequests {
    private let key: AttestedKey
    private let caller: GateCaller
    private let clock: any ClientClock
    private let attempts: OperationGuard
    private let unregistration: OperationGuard
    /// Of the last answer. Each is used once.
    private var nextChallenge: HeldChallenge?

    init(
        _ key: AttestedKey, _ caller: GateCaller, _ clock: any ClientClock, attempts: OperationGuard,
        unregistration: OperationGuard
    ) {
        (self.key, self.caller, self.clock) = (key, caller, clock)
        (self.attempts, self.unregistration) = (attempts, unregistration)
    }

    /// Makes a key, has Apple attest it, and registers it, unless that was done before.
    public func registerIfNeeded() async throws(GateError) {
        do { _ = try await key.registered(by: registration) } catch { throw GateError(wrapping: error) }
    }

    /// Sends a signed request. One that may have arrived isn't repeated unless its method is idempotent (RFC 9110
    /// section 9.2.2).
    ///
    /// - Parameters:
    ///   - path: below the base URL; a query may follow.
    ///   - method: of the request.
    ///   - body: nil: none. A GET's isn't signed.
    ///   - additionalHeaders: of the app.
    ///   - recipe: what the signature covers; it depends on the proxy in front of the service.
    /// - Returns: the answer, whatever its status is: ``GateResponse/refusal`` says what a refusal means.
    public func perform(
        path: String, method: HTTPMethod, body: Data? = nil, additionalHeaders: [String: String] = [:],
        recipe: SigningRecipe = .body
    ) async throws(GateError) -> GateResponse {
        do {
            let request = try SignedRequest(
                url: caller.address.url(path), method: method, body: body.map(Array.init),
                others: AppHeaders.checked(additionalHeaders), recipe: recipe)
            return try await attempts.run { [self] in try await accepted(request) }.get()
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// The six header fields of one request, for an app that sends it with another HTTP client. They are good for one
    /// request.
    public func headers(
        path: String, method: HTTPMethod, body: Data? = nil, recipe: SigningRecipe = .body
    ) async throws(GateError) -> [String: String] {
        do {
            let request = try SignedRequest(
                url: caller.address.url(path), method: method, body: body.map(Array.init), others: [], recipe: recipe)
            let fields = try await key.use(registeredBy: registration, proves: { _ in false }) {
                try await self.fields($0, request)
            }
            return Dictionary(fields.fields.map { ($0.name, $0.value) }) { $1 }
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// Has the gate forget this device, and forgets the key.
    public func unregister() async throws(GateError) {
        do {
            if let identifier = try await key.current() {
                try await unregistration.run { [self] in try await unregister(identifier) }
            }
        } catch {
            throw GateError(wrapping: error)
        }
        await key.clear()
    }

    /// Forgets the key. The next use makes and registers a new one.
    public func clearAttestKey() async { await key.clear() }

    // MARK: Requests

    /// Sends a request; once more with a new key or a new challenge, if the answer asks for that.
    private func accepted(_ request: SignedRequest) async throws -> Result<GateResponse, GateError> {
        do {
            return .success(
                try await key.use(registeredBy: registration, proves: { $0.refusal == nil }) { [self] identifier in
                    do {
                        return try await send(identifier, request)
                    } catch let error as RefusedRequest where error.reaction == .newChallenge {
                        return try await send(identifier, request)
                    }
                })
        } catch let error as RefusedRequest {
            return .success(error.response)
        } catch let error as LostRequest {
            return .failure(error.error)
        }
    }

    private func send(_ identifier: String, _ request: SignedRequest) async throws -> GateResponse {
        let fields = try await fields(identifier, request)
        let signed = GateRequest(
            request.method.rawValue, request.url, headers: HeaderFields(fields.fields + request.others),
            body: request.body.map { Data($0) }, maximumBytes: caller.limits.serviceBodyBytes)
        let response: GateResponse
        do { response = try await caller.call(signed, within: caller.limits.serviceRequest) } catch {
            let error = GateError(wrapping: error)
            let isSent = error != .network(.unreachable)
            guard isSent, error.isPassing, !request.method.isIdempotent else { throw error }
            throw LostRequest(error: error)
        }
        keepChallenge(response)
        return try Self.checked(response)
    }

    /// A refusal that a new key or a new challenge helps against is an error until nothing helps.
    private static func checked(_ response: GateResponse) throws -> GateResponse {
        guard let refusal = response.refusal else { return response }
        switch refusal.reaction {
        case .newKey: throw GateError.refused(refusal)
        case .newChallenge: throw RefusedRequest(response: response, reaction: .newChallenge)
        default: return response
        }
    }

    private func fields(_ identifier: String, _ request: SignedRequest) async throws -> HeaderFields {
        let challenge = try await challenge()
        let clientData = request.clientData(challenge: challenge.text)
        let assertion = try await key.assert(identifier, clientDataHash: request.hash(clientData: clientData))
        return SignedField.fields(
            key: identifier, challenge: challenge.text, assertion: assertion, clientData: clientData,
            body: request.boundBody)
    }

    // MARK: Registration

    private nonisolated var registration: KeyRegistration {
        KeyRegistration { [weak self] in
            guard let challenge = try await self?.challenge() else { throw CancellationError() }
            return (challenge, Digest.sha256(ClientData.challenge(challenge.text)))
        } send: { [weak self] identifier, challenge, attestation in
            guard let self else { throw CancellationError() }
            try await register(identifier, challenge, attestation)
        }
    }

    private func register(_ identifier: String, _ challenge: HeldChallenge, _ attestation: [UInt8]) async throws {
        let clientData = ClientData.challenge(challenge.text)
        let response = try await signed("/register", identifier, challenge, clientData, attestation: attestation)
        keepChallenge(response)
        guard response.status == 200 || response.status == 201 else { throw caller.error(for: response) }
    }

    private func unregister(_ identifier: String) async throws {
        let challenge = try await challenge()
        let response = try await signed(
            "/unregister", identifier, challenge, ClientData.challenge(challenge.text), attestation: nil)
        // 404: it isn't registered. 428: the key isn't known any more.
        guard !(200..<300).contains(response.status), response.status != 404, response.status != 428 else { return }
        throw caller.error(for: response)
    }

    /// Here attestation and assertion are over the client data alone, although the body has a digest.
    private func signed(
        _ path: String, _ identifier: String, _ challenge: HeldChallenge, _ clientData: [UInt8], attestation: [UInt8]?
    ) async throws -> GateResponse {
        let assertion = try await key.assert(identifier, clientDataHash: Digest.sha256(clientData))
        let body = JSONText.object {
            $0.add("app_attest_key_id", identifier)
            $0.add("app_attest_assertion", BinaryText.base64(assertion))
            $0.add("app_attest_client_data", BinaryText.base64(clientData))
            $0.add("app_attest_challenge", challenge.text)
            if let attestation { $0.add("app_attest_attestation", BinaryText.base64(attestation)) }
        }
        var fields = SignedField.fields(
            key: identifier, challenge: challenge.text, assertion: assertion, clientData: clientData, body: body)
        if let attestation { fields.add(SignedField.attestation, BinaryText.base64(attestation)) }
        return try await caller.post(path, body, headers: fields)
    }

    // MARK: Challenges

    private func challenge() async throws -> HeldChallenge {
        if let next = nextChallenge {
            nextChallenge = nil
            if next.isUsable(at: clock.now) { return next }
        }
        let local = clock.date.timeIntervalSince1970
        let response = try await caller.post("/challenge", Array("{}".utf8))
        let members = try caller.members(of: response)
        guard let challenge = held(members, response, local: local) else {
            throw GateError.malformedAnswer(.member("challenge"))
        }
        return challenge
    }

    private func held(_ members: JSONMembers, _ response: GateResponse, local: Double) -> HeldChallenge? {
        guard let text = members.string("challenge"), text.utf8.count <= 128,
            let bytes = BinaryText.bytes(base64: text.utf8), (16...64).contains(bytes.count)
        else { return nil }
        return HeldChallenge(
            text, bytes: bytes,
            expiry: members.string("expires_at").flatMap { TimeText.seconds(rfc3339: $0) }.map(Double.init),
            serverTime: response.headers["Date"].flatMap { TimeText.seconds(httpDate: $0) }.map(Double.init),
            localTime: local, received: clock.now)
    }

    /// The next challenge comes in the body of a registration, and in a header field behind a proxy.
    private func keepChallenge(_ response: GateResponse) {
        if let text = response.headers[SignedField.nextChallenge], text.utf8.count <= 128,
            let bytes = BinaryText.bytes(base64: text.utf8), (16...64).contains(bytes.count)
        {
            nextChallenge = HeldChallenge(text, bytes: bytes, received: clock.now)
            return
        }
        guard response.body.count <= ClientLimits.gateBodyBytes,
            let members = try? JSONMembers(Array(response.body), maximumBytes: ClientLimits.gateBodyBytes),
            let next = members.object("next_challenge")
        else { return }
        nextChallenge = held(next, response, local: clock.date.timeIntervalSince1970) ?? nextChallenge
    }
}

/// An answer that is returned to the app when the second attempt has brought none that is better.
private struct RefusedRequest: Error {
    let response: GateResponse
    let reaction: Reaction
}

/// A request whose answer was lost. It may have arrived, so the app decides about another one.
private struct LostRequest: Error {
    let error: GateError
}

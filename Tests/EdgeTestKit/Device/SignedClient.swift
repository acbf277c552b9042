import Crypto
import DeviceSimulation
import Foundation
import Synchronization

/// A client that signs each request, written from the observations of the real one: slashes of the client data are
/// escaped, register and unregister use the stored next challenge, everything else fetches a new one, and the answer's
/// words decide what it does next.
package final class SignedClient: Sendable {
    private struct State {
        var gateway: GatewayProcess
        var device: TestDevice
        var isRegistered = false
        /// `key mismatch` of a service clears the key: the client is stranded until it registers again.
        var isStranded = false
        var next: String?
        /// Attempts to rotate the key, in one window of 300 s for all operations.
        var rotations = 0
    }

    private let apple: SimulatedApple
    private let prefix: String
    private let state: Mutex<State>

    package static let maximumRotations = 3

    package init(_ apple: SimulatedApple, at gateway: GatewayProcess, prefix: String = "") throws {
        (self.apple, self.prefix) = (apple, prefix)
        state = Mutex(State(gateway: gateway, device: try apple.device()))
    }

    package var device: TestDevice { state.withLock { $0.device } }
    package var rotations: Int { state.withLock { $0.rotations } }
    package var isStranded: Bool { state.withLock { $0.isStranded } }
    private var gateway: GatewayProcess { state.withLock { $0.gateway } }

    /// The gateway was started again, or another one has its store.
    package func move(to gateway: GatewayProcess) { state.withLock { $0.gateway = gateway } }

    /// As after the app's data were restored on another gateway's store.
    package func believesItIsRegistered() { state.withLock { $0.isRegistered = true } }

    // MARK: Challenges

    package func challenge() async throws -> String {
        let answer = try await gateway.post(prefix + "/challenge", #"{"did":"did:plc:abc","force_key_rotation":false}"#)
        guard answer.status == 200, let challenge = answer.strings?["challenge"] else {
            throw EdgeTestError("no challenge: \(answer)")
        }
        return challenge
    }

    private func stored() async throws -> String {
        let next = state.withLock { state in
            defer { state.next = nil }
            return state.next
        }
        if let next { return next }
        return try await challenge()
    }

    private static func nextChallenge(in answer: ReceivedAnswer) -> String? {
        let members = try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        let next = members?["next_challenge"] as? [String: String]
        return next?["expires_at"] == nil ? nil : next?["challenge"]
    }

    // MARK: Registration

    /// Registers with rotations of the key, as the client recovers.
    package func register(path: String = "/register") async throws -> ReceivedAnswer {
        while true {
            let answer = try await registerOnce(path: path)
            guard rotatesKey(after: answer), rotate() else { return answer }
        }
    }

    /// - Parameter counter: nil: the next one.
    package func registerOnce(path: String = "/register", counter: UInt32? = nil) async throws -> ReceivedAnswer {
        if isStranded, let device = try? apple.device() {
            state.withLock { ($0.device, $0.isRegistered, $0.isStranded) = (device, false, false) }
        }
        let (device, attests) = state.withLock { ($0.device, !$0.isRegistered) }
        let challenge = try await stored()
        let data = Self.clientData(challenge)
        let hash = Array(SHA256.hash(data: Array(data.utf8)))
        let attestation = try attests ? device.attestation(clientDataHash: hash) : nil
        let assertion = try device.assertion(clientDataHash: hash, counter: counter)
        let answer = try await send("POST", path, device, challenge, data, assertion, attestation)
        if answer.status == 200 || answer.status == 201 {
            guard let next = Self.nextChallenge(in: answer) else { throw EdgeTestError("no next challenge: \(answer)") }
            state.withLock { ($0.isRegistered, $0.next) = (true, next) }
        }
        return answer
    }

    package func unregister(_ method: String = "POST", path: String = "/unregister") async throws -> ReceivedAnswer {
        let device = device
        let challenge = try await stored()
        let data = Self.clientData(challenge)
        let assertion = try device.assertion(clientDataHash: Array(SHA256.hash(data: Array(data.utf8))))
        return try await send(method, path, device, challenge, data, assertion, nil)
    }

    private func send(
        _ method: String, _ path: String, _ device: TestDevice, _ challenge: String, _ data: String,
        _ assertion: [UInt8], _ attestation: [UInt8]?
    ) async throws -> ReceivedAnswer {
        var members = [
            "did": "did:plc:abc", "app_attest_key_id": device.keyID, "app_attest_challenge": challenge,
            "app_attest_client_data": Data(data.utf8).base64EncodedString(),
            "app_attest_assertion": Data(assertion).base64EncodedString(),
        ]
        members["app_attest_attestation"] = attestation.map { Data($0).base64EncodedString() }
        let body = String(decoding: try JSONEncoder().encode(members), as: UTF8.self)
        var fields = Self.fields(device, challenge, data, assertion, body: body)
        fields["X-AppAttest-Attestation"] = attestation.map { Data($0).base64EncodedString() }
        return try await gateway.request(
            "\(method) \(prefix)\(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n"
                + Self.lines(fields) + "\r\n" + body)
    }

    // MARK: Recovery

    /// Of register and unregister alone.
    private func rotatesKey(after answer: ReceivedAnswer) -> Bool {
        let text = (answer.errorText ?? "").lowercased()
        return switch answer.status {
        case 401, 428: text.contains("key mismatch") || text.contains("requires re-attestation")
        case 400: text.contains("attestation") && text.contains("required")
        default: false
        }
    }

    /// - Returns: false if the circuit breaker is open.
    private func rotate() -> Bool {
        guard let device = try? apple.device() else { return false }
        return state.withLock { state in
            guard state.rotations < Self.maximumRotations else { return false }
            (state.device, state.isRegistered, state.next) = (device, false, nil)
            state.rotations += 1
            return true
        }
    }

    /// A request of a service: `key mismatch` clears the key, and any other 401 or 428 is tried again, up to
    /// ``attempts`` times in all. Each attempt has a new challenge.
    ///
    /// - Parameter attempt: sends it, with the proxy's status in the answer.
    package func perform(
        _ attempt: @Sendable () async throws -> SignedAnswer
    ) async throws -> (answer: SignedAnswer, attempts: Int) {
        var attempts = 0
        while true {
            let answer = try await attempt()
            attempts += 1
            guard answer.status == 401 || answer.status == 428 else { return (answer, attempts) }
            if answer.text.lowercased().contains("key mismatch") {
                state.withLock { $0.isStranded = true }
                return (answer, attempts)
            }
            if attempts == Self.attempts { return (answer, attempts) }
        }
    }

    /// One and a retry, four times.
    package static let attempts = 8

    // MARK: Requests of services

    /// The fields of a request with recipe 1, with the challenge as a client escapes it.
    ///
    /// - Parameters:
    ///   - given: nil: a new one is fetched, as the client does for each request of a service.
    ///   - counter: nil: the next one.
    package func fields(
        body: String = "", over given: String? = nil, counter: UInt32? = nil
    ) async throws -> [String: String] {
        let device = device
        let challenge = if let given { given } else { try await challenge() }
        let data = Self.clientData(challenge)
        let assertion = try device.assertion(
            clientDataHash: Array(SHA256.hash(data: Array((data + body).utf8))), counter: counter)
        return Self.fields(device, challenge, data, assertion, body: body)
    }

    /// The same with recipe 2.
    package func fields(
        _ method: String, _ url: String, body: String = "", over given: String? = nil, counter: UInt32? = nil
    ) async throws -> [String: String] {
        let device = device
        let challenge = if let given { given } else { try await challenge() }
        let data =
            #"{"challenge":"\#(Self.escaped(challenge))","htm":"\#(method)","htu":"\#(Self.escaped(url))","#
            + #""digest":"\#(Self.escaped(Self.digest(body)))"}"#
        let assertion = try device.assertion(
            clientDataHash: Array(SHA256.hash(data: Array(data.utf8))), counter: counter)
        return Self.fields(device, challenge, data, assertion, body: body)
    }

    /// As recipe 2 signs it (RFC 9530).
    package static func digest(_ body: String) -> String {
        guard !body.isEmpty else { return "absent" }
        return "sha-256=:\(Data(SHA256.hash(data: Array(body.utf8))).base64EncodedString()):"
    }

    private static func fields(
        _ device: TestDevice, _ challenge: String, _ data: String, _ assertion: [UInt8], body: String
    ) -> [String: String] {
        var fields = [
            "X-AppAttest-KeyId": device.keyID, "X-AppAttest-Challenge": challenge,
            "X-AppAttest-Assertion": Data(assertion).base64EncodedString(), "X-AppAttest-ClientData": data,
        ]
        if !body.isEmpty {
            fields["X-AppAttest-BodySHA256"] = Data(SHA256.hash(data: Array(body.utf8))).base64EncodedString()
        }
        return fields
    }

    package static func lines(_ fields: [String: String]) -> String {
        fields.map { "\($0.key): \($0.value)\r\n" }.joined()
    }

    private static func clientData(_ challenge: String) -> String { #"{"challenge":"\#(escaped(challenge))"}"# }

    private static func escaped(_ text: String) -> String { text.replacingOccurrences(of: "/", with: #"\/"#) }
}

/// What a client gets of a refusal, or of a service, through a proxy that passes status and words on.
package struct SignedAnswer: Sendable {
    package let status: Int
    package let text: String

    package init(status: Int, text: String) { (self.status, self.text) = (status, text) }

    /// As the examples in `config/` rebuild it from an answer of `/authz`.
    package init(asked answer: ReceivedAnswer) {
        status = answer["x-refusal-status"].flatMap { Int($0) } ?? answer.status
        text = answer.errorText ?? answer.text
    }
}

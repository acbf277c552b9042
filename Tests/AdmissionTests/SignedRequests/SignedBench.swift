import AppAttest
import DPoP
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing
import WireText

@testable import Admission

/// Signed requests of a device, written from the protocol.
struct SignedBench {
    static let origin = "https://gate.example:6200"
    static let url = "https://api.example.com/preferences"

    let bench: Bench
    var windowSize = 32
    /// `AUTHZ_BODY=forwarded`
    var seesBodies = true
    var maximumBodyBytes = 65_536
    var blockList = BlockList()
    /// Of upgrades.
    var origins = OwnOrigins.setting(Self.origin)
    /// `AUTHZ_ADMIT`
    var admits: Set<String> = ["token", "signed"]
    /// Of failures at one address.
    var limits = UpgradeLimits(failedUpgradesPerMinute: 100_000, verificationsPerSecond: 100_000)

    /// - Parameter bench: nil: a new one.
    init(_ bench: Bench? = nil) throws { self.bench = try bench ?? Bench() }

    var settings: SignedRequestSettings {
        var appAttest = bench.appAttest(over: bench.registry)
        appAttest.window = CounterWindow(size: windowSize) ?? .strict
        return SignedRequestSettings(appAttest: appAttest, origins: origins)
    }

    var authorization: SignedAuthorization {
        SignedAuthorization(
            settings, blockList: blockList, admits: admits, limits: limits, seesBodies: seesBodies,
            maximumBodyBytes: maximumBodyBytes)
    }

    var gate: Gate {
        var gate = bench.settings
        gate.methods.insert(SignedRequestMethod(settings), at: 2)
        return Gate(gate)
    }

    func challenge(at moment: Moment = start) -> String { bench.challenges.issueForSigned(at: moment).nonce }

    // MARK: What a client sends

    /// As the client writes it: slashes are escaped.
    static func clientData(_ challenge: String) -> String {
        #"{"challenge":"\#(escaped(challenge))"}"#
    }

    static func clientData(_ challenge: String, _ method: String, _ url: String, _ digest: String) -> String {
        #"{"challenge":"\#(escaped(challenge))","htm":"\#(method)","htu":"\#(escaped(url))","digest":"\#(escaped(digest))"}"#
    }

    private static func escaped(_ text: String) -> String { text.replacingOccurrences(of: "/", with: #"\/"#) }

    static func digest(_ body: String) -> String { "sha-256=:" + base64(sha256(Array(body.utf8))) + ":" }

    static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// The header fields of one request.
    struct Sent {
        var values: [String: [String]] = [:]
        var body = ""

        var fields: SignedFields { SignedFields { values[$0] ?? [] } }

        subscript(field: SignedField) -> String? {
            get { values[field.name]?.first }
            set { values[field.name] = newValue.map { [$0] } }
        }
    }

    func sent(
        by device: inout SimulatedDevice, clientData: String, challenge: String, hash: [UInt8], body: String = ""
    ) throws -> Sent {
        var sent = Sent()
        sent[.keyID] = Self.base64(device.keyID)
        sent[.challenge] = challenge
        sent[.assertion] = Self.base64(try device.assert(clientDataHash: hash))
        sent[.clientData] = clientData
        if !body.isEmpty { sent[.bodyDigest] = Self.base64(sha256(Array(body.utf8))) }
        sent.body = body
        return sent
    }

    /// Recipe 1.
    func first(
        _ device: inout SimulatedDevice, body: String = "", over given: String? = nil, at moment: Moment = start
    ) throws -> Sent {
        let challenge = given ?? challenge(at: moment)
        let data = Self.clientData(challenge)
        var sent = try sent(
            by: &device, clientData: data, challenge: challenge, hash: sha256(Array((data + body).utf8)), body: body)
        sent[.originalLength] = String(body.utf8.count)
        return sent
    }

    /// Recipe 2.
    func second(
        _ device: inout SimulatedDevice, _ method: String = "PUT", _ url: String = url, body: String = "",
        at moment: Moment = start
    ) throws -> Sent {
        let challenge = challenge(at: moment)
        let data = Self.clientData(challenge, method, url, body.isEmpty ? "absent" : Self.digest(body))
        return try sent(
            by: &device, clientData: data, challenge: challenge, hash: sha256(Array(data.utf8)), body: body)
    }

    // MARK: What the gate says

    func upgrade(_ sent: Sent, at moment: Moment = start, changing: (inout AdmissionRequest) -> Void = { _ in })
        -> AdmissionDecision
    {
        var request = request(sent, at: moment)
        request.path = "/mud/mine"
        changing(&request)
        return gate.evaluate(request)
    }

    /// At one of the gateway's own endpoints, such as those of accounts.
    func authenticate(_ sent: Sent, _ path: String, arrived: String) -> CredentialDecision {
        var request = request(sent, at: start)
        (request.path, request.handshake.method) = (path, "POST")
        (request.body, request.isWithoutRoute) = (Array(arrived.utf8), true)
        return gate.authenticate(request)
    }

    private func request(_ sent: Sent, at moment: Moment) -> AdmissionRequest {
        var request = bench.request(at: moment)
        let names = (SignedField.choosing + [.bodyDigest]).map(\.name)
        request.fields = CredentialFields(
            CredentialFieldNames(headers: names), header: { sent.values[$0]?.first }, parameter: { _ in nil })
        return request
    }

    /// Through a proxy.
    ///
    /// - Parameter arrived: the body that has arrived; nil: the one that was sent.
    func authorize(
        _ sent: Sent, _ method: String = "PUT", _ url: String = url, arrived: String? = nil, hashesBody: Bool = true,
        methods: Set<String>? = nil, from text: String = "192.0.2.1", at moment: Moment = start
    ) throws -> Result<VerifiedSignedRequest, RefusedRequest> {
        var hashed: HashedBody?
        if hashesBody, let clientData = sent.fields.clientData {
            var hash = BodyHash(behind: clientData)
            for piece in Array((arrived ?? sent.body).utf8).chunks(of: 3) { hash.update(piece) }
            hashed = hash.finished()
        }
        let values = ["x-original-method": [method], "x-original-url": [url]]
        let question = SignedAuthorization.Question(
            request: try OriginalRequest(path: "", ownMethod: "GET") { values[$0] ?? [] }, fields: sent.fields,
            body: hashed, address: address(text), methods: methods, moment: moment)
        guard case .decided(let outcome) = authorization.decision(on: question) else { throw OtherStep() }
        return try outcome.get()
    }

    func refusal(_ sent: Sent, _ method: String = "PUT", _ url: String = url, arrived: String? = nil) throws -> Refusal
    {
        guard case .failure(let refused) = try authorize(sent, method, url, arrived: arrived) else {
            throw OtherStep()
        }
        return refused.refusal
    }

    struct OtherStep: Error {}
}

extension Array {
    func chunks(of size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}

extension Result where Failure == RefusedRequest {
    var verified: Success? { try? get() }
}

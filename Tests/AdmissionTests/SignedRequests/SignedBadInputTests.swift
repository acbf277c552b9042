import DeviceSimulation
import Foundation
import Testing
import WireText

@testable import Admission

/// Each bad input has one answer and one check, wherever it comes from, and nothing is spent by it.
@Suite("Bad signed requests")
struct SignedBadInputTests {
    private let signed: SignedBench
    private static let body = #"{"mentions":true}"#

    init() throws { signed = try SignedBench() }

    private struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let answer: RefusalAnswer
        let check: AdmissionCheck
        var method = "PUT"
        /// That has arrived; nil: the one that was sent.
        var arrived: String?
        var change: @Sendable (inout SignedBench.Sent) -> Void = { _ in }

        var testDescription: String { name }
    }

    private static let fields: [Case] = [SignedField.keyID, .challenge, .assertion, .clientData, .bodyDigest].flatMap {
        field in
        [
            Case(name: "\(field.name) twice", answer: .signedFieldsMalformed, check: .signedFields) {
                $0.values[field.name] = ($0.values[field.name] ?? []) + ["A"]
            },
            Case(
                name: "\(field.name) empty",
                answer: field == .bodyDigest ? .signedFieldsMalformed : .signedFieldMissing, check: .signedFields
            ) { $0[field] = "" },
            Case(
                name: "\(field.name) over its limit",
                answer: .signedFieldsMalformed, check: field == .challenge ? .clientData : .signedFields
            ) { $0[field] = String(repeating: "A", count: 20_000) },
        ]
    }

    private static let base64: [Case] = [SignedField.keyID, .assertion, .bodyDigest].map { field in
        Case(name: "\(field.name) is no base64", answer: .signedFieldsMalformed, check: .signedFields) {
            $0[field] = "%" + ($0[field] ?? "")
        }
    }

    private static let bodies: [Case] = [
        Case(name: "body without digest", answer: .bodyDigestMismatch, check: .bodyDigest) { $0[.bodyDigest] = nil },
        Case(name: "digest without body", answer: .bodyDigestMismatch, check: .bodyDigest, arrived: "") {
            $0[.originalLength] = "0"
        },
        Case(name: "digest at a GET", answer: .digestNotAccepted, check: .bodyDigest, method: "GET"),
        Case(name: "body that is cut", answer: .bodyDigestMismatch, check: .bodyDigest, arrived: "{\"men"),
        Case(
            name: "body that is cut, with its length", answer: .bodyDigestMismatch, check: .bodyDigest,
            arrived: "{\"men"
        ) { $0[.originalLength] = "5" },
        Case(
            name: "body that is longer than announced", answer: .bodyDigestMismatch, check: .bodyDigest,
            arrived: body + "  "),
        Case(
            name: "body that was compressed on its way", answer: .bodyDigestMismatch, check: .bodyDigest,
            arrived: "\u{1F}\u{8B}\u{8}"
        ) { $0[.originalLength] = "4" },
        Case(name: "no length", answer: .signedFieldsMalformed, check: .bodyDigest) { $0[.originalLength] = nil },
        Case(name: "length that is none", answer: .signedFieldsMalformed, check: .signedFields) {
            $0[.originalLength] = "0x11"
        },
    ]

    private static let clientData: [Case] = [
        (#"{"challenge":"a","challenge":"a"}"#, AdmissionCheck.signedFields),
        (#"{"challenge":"a","more":1}"#, .clientData),
        (#"{"chalenge":"a"}"#, .clientData), (#"{"challenge":"a"}"#, .clientData), ("{", .signedFields),
    ].map { text, check in
        Case(name: text, answer: .signedFieldsMalformed, check: check) { $0[.clientData] = text }
    }

    @Test(arguments: fields + base64 + bodies + clientData)
    private func `is refused with its code, before anything is spent`(bad: Case) throws {
        var device = try signed.bench.registeredDevice()
        let good = try signed.first(&device, body: Self.body)
        var sent = good
        bad.change(&sent)
        let refusal = try signed.refusal(sent, bad.method, arrived: bad.arrived)
        #expect(refusal.answer == bad.answer && refusal.failed.check == bad.check, "\(refusal)")
        #expect(try signed.authorize(good).verified != nil)
    }

    /// What a client signs names neither a dialect nor an endpoint: the challenge does.
    @Test func `an assertion of one dialect is none of the others, once in all`() async throws {
        var tokens = try TokenBench()
        let signed = try SignedBench(tokens.bench)
        let sent = try signed.first(&tokens.device)
        let challenge = try #require(sent[.challenge].flatMap { Data(base64Encoded: $0) }).map { $0 }
        let assertion = try #require(sent[.assertion].flatMap { Data(base64Encoded: $0) }).map { $0 }
        let key = SignedBench.base64(tokens.device.keyID)
        // Its bytes as the guide's nonce and as the token dialect's.
        let guide = AssertionFields(
            keyID: key, data: SignedBench.base64(assertion), nonce: Hexadecimal.encode(challenge))
        #expect(signed.gate.evaluate(signed.bench.request(guide)).refusal?.answer == .invalidNonce)
        let token = try tokens.request(nonce: Base64URL.encode(challenge), assertion: assertion)
        #expect(await tokens.issuer().issue(token).token == nil)
        #expect(try signed.authorize(sent).verified != nil)
        #expect(try signed.refusal(sent).answer == .signedChallengeRefused)
        // With challenges of their own, the signature is over something else.
        let fresh = AssertionFields(keyID: key, data: SignedBench.base64(assertion), nonce: signed.bench.nonce())
        #expect(signed.gate.evaluate(signed.bench.request(fresh)).refusal?.answer == .assertionRejected)
        #expect(await tokens.issuer().issue(try tokens.request(assertion: assertion)).token == nil)
        // The others' here.
        let nonce = tokens.challenge()
        let other = try tokens.assertion(over: nonce)
        let bytes = try #require(Base64URL.decode(nonce))
        for challenge in [SignedBench.base64(bytes), signed.challenge()] {
            var forged = sent
            forged[.challenge] = challenge
            forged[.clientData] = SignedBench.clientData(challenge)
            forged[.assertion] = SignedBench.base64(other)
            #expect(try signed.authorize(forged).verified == nil)
        }
        #expect(await tokens.issuer().issue(try tokens.request(nonce: nonce, assertion: other)).token != nil)
    }
}

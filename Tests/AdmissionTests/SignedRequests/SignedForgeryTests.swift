import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// A named forgery for each step of the verification that no other test of signed requests has.
@Suite("Forged signatures of requests")
struct SignedForgeryTests {
    private var signed: SignedBench
    private let url = SignedBench.origin + "/mud/mine"
    private let body = #"{"mentions":true}"#

    init() throws { signed = try SignedBench() }

    /// A request, and the text that its key should have signed.
    private struct Place {
        let sent: SignedBench.Sent
        let isUpgrade: Bool

        /// The body is behind the client data in recipe 1 alone.
        init(_ sent: SignedBench.Sent, isUpgrade: Bool = false) { (self.sent, self.isUpgrade) = (sent, isUpgrade) }

        var signedText: String {
            let data = sent[.clientData] ?? ""
            return data.contains(#""htm""#) ? data : data + sent.body
        }
    }

    private func places(_ device: inout SimulatedDevice) throws -> [Place] {
        [
            Place(try signed.first(&device, body: body)), Place(try signed.second(&device, body: body)),
            Place(try signed.first(&device), isUpgrade: true),
            Place(try signed.second(&device, "GET", url), isUpgrade: true),
        ]
    }

    private func refusal(_ sent: SignedBench.Sent, isUpgrade: Bool) throws -> Refusal {
        isUpgrade ? try #require(signed.upgrade(sent).refusal) : try signed.refusal(sent)
    }

    private func expected(of assertion: [UInt8]) -> RefusalAnswer {
        if assertion.isEmpty { return .signedFieldMissing }
        return assertion.count > signed.settings.appAttest.maximumAssertionBytes
            ? .signedFieldsMalformed : .signedAssertionRejected
    }

    @Test(arguments: AssertionDefect.allCases)
    func `every defect of an assertion is refused in each recipe and place, and spends no challenge`(
        defect: AssertionDefect
    ) throws {
        var strict = self
        strict.signed.windowSize = 0
        var device = try signed.bench.registeredDevice()
        let places = try strict.places(&device)
        // All forgeries expect the same counter.
        let previous = try device.forgeAssertion(defect, clientDataHash: []).previousCounter
        let id = try #require(KeyID(bytes: device.keyID))
        if previous > 0 {
            #expect(signed.bench.registry.advanceCounter(of: id, to: previous, at: 0) == .advanced)
        }
        for place in places {
            let forgery = try device.forgeAssertion(defect, clientDataHash: sha256(Array(place.signedText.utf8)))
            var sent = place.sent
            sent[.assertion] = SignedBench.base64(forgery.assertion)
            let refusal = try strict.refusal(sent, isUpgrade: place.isUpgrade)
            #expect(refusal.answer == strict.expected(of: forgery.assertion), "\(place.isUpgrade) \(refusal)")
            let challenge = try #require(sent[.challenge])
            #expect(signed.bench.challenges.refusalOfSigned(challenge, at: start.monotonic) == nil)
        }
        #expect(signed.bench.registry.key(id)?.counter == previous)
    }

    @Test func `a HEAD has no digest, either`() throws {
        var device = try signed.bench.registeredDevice()
        for sent in [try signed.first(&device, body: body), try signed.second(&device, "HEAD", body: body)] {
            let refusal = try signed.refusal(sent, "HEAD")
            #expect(refusal.answer == .digestNotAccepted && refusal.failed.check == .bodyDigest)
        }
    }

    @Test func `where the body is seen, recipe 2 is for that body alone`() throws {
        var device = try signed.bench.registeredDevice()
        let other = body.replacingOccurrences(of: "t", with: "f")
        for arrived in ["", "{}", other, body + " ", String(body.dropLast())] {
            var sent = try signed.second(&device, body: body)
            // A proxy states the length of what has arrived.
            sent[.originalLength] = String(arrived.utf8.count)
            for digest in [sent[.bodyDigest], SignedBench.base64(sha256(Array(arrived.utf8))), nil] {
                sent[.bodyDigest] = digest
                let refusal = try signed.refusal(sent, arrived: arrived)
                #expect(refusal.answer == .bodyDigestMismatch && refusal.failed.check == .bodyDigest, "\(arrived)")
            }
            sent[.originalLength] = String(body.utf8.count)
            #expect(try signed.authorize(sent).verified != nil)
        }
        var empty = try signed.second(&device)
        empty[.originalLength] = "1"
        #expect(try signed.refusal(empty, arrived: "x").answer == .bodyDigestMismatch)
        empty[.originalLength] = "0"
        #expect(try signed.authorize(empty).verified != nil)
    }

    @Test func `a body is at most as long as the setting says`() throws {
        var device = try signed.bench.registeredDevice()
        let longest = String(repeating: "a", count: 65_536)
        let long = try signed.first(&device, body: longest + "a")
        let refusal = try signed.refusal(long)
        #expect(refusal.answer == .bodyTooLarge && refusal.failed.check == .body)
        #expect(try signed.authorize(try signed.first(&device, body: longest)).verified != nil)
    }

    @Test func `an upgrade at a host that isn't the gateway's has no URL that anybody could sign`() throws {
        var other = signed
        other.origins = .certificate(ServerNames(dnsNames: ["gate.example"]), at: ListeningPort(6200))
        var device = try signed.bench.registeredDevice()
        for host in ["other.example:6200", "gate.example", "gate.example:6201", nil] {
            for htu in [url, "https://\(host ?? "other.example")/mud/mine"] {
                let sent = try signed.second(&device, "GET", htu)
                let refusal = try #require(other.upgrade(sent) { $0.host = host }.refusal)
                #expect(refusal.answer == .signedAssertionRejected && refusal.failed.check == .htu, "\(refusal)")
            }
        }
        let good = try signed.second(&device, "GET", url)
        #expect(other.upgrade(good) { $0.host = "gate.example:6200" }.admitted != nil)
    }

    @Test func `a key of another environment or root has to be attested again`() throws {
        let changes: [(inout DeviceKey) -> Void] = [
            { $0.environment = "development" }, { $0.trustRoot = [UInt8](repeating: 9, count: 32) },
        ]
        for change in changes {
            var device = try signed.bench.registeredDevice(changing: change)
            for place in try places(&device) {
                let refusal = try refusal(place.sent, isUpgrade: place.isUpgrade)
                #expect(refusal.answer == .reattestationRequired && refusal.failed.check == .keyScope)
            }
        }
    }

    @Test func `a blocked address gets no answer about a signature, and spends nothing`() throws {
        var device = try signed.bench.registeredDevice()
        let sent = try signed.first(&device)
        var other = signed
        other.blockList = try BlockList("address 192.0.2.1")
        let refusal = try other.refusal(sent)
        #expect(refusal.answer == .deviceBlocked && refusal.detail == "the address is on the block list")
        #expect(try other.authorize(sent, from: "192.0.2.2").verified != nil)
    }
}

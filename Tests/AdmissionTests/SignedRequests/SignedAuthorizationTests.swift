import AppAttest
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing
import WireText

@testable import Admission

/// Signed requests on `/authz`, with one named forgery for each member, recipe and place.
@Suite("Signed requests behind a proxy")
struct SignedAuthorizationTests {
    private var signed: SignedBench
    private let body = #"{"mentions":true}"#

    init() throws { signed = try SignedBench() }

    @Test func `either recipe passes, once`() throws {
        var device = try signed.bench.registeredDevice()
        for sent in [
            try signed.first(&device, body: body), try signed.first(&device),
            try signed.second(&device, body: body), try signed.second(&device),
        ] {
            let verified = try #require(try signed.authorize(sent).verified)
            #expect(verified.identity.method.label == "signed_request")
            #expect(verified.identity.subject == SignedBench.base64(device.keyID) && verified.app == Bench.app)
            #expect(verified.digest.text == (sent.body.isEmpty ? "absent" : SignedBench.digest(sent.body)))
            #expect(try signed.refusal(sent).answer == .signedChallengeRefused)
        }
    }

    @Test func `the service reads who it is, and the digest to compare`() throws {
        var device = try signed.bench.registeredDevice()
        let verified = try #require(try signed.authorize(try signed.second(&device, body: body)).verified)
        let fields = Dictionary(uniqueKeysWithValues: verified.identityFields.map { ($0.name, $0.value) })
        #expect(fields["X-Portcullis-Content-Digest"] == SignedBench.digest(body))
        #expect(fields["X-Portcullis-Method"] == "signed_request")
        #expect(fields["X-Portcullis-App"] == Bench.app.description)
    }

    // MARK: Forgeries

    @Test func `another body, a changed byte, a cut and a longer one are refused`() throws {
        var device = try signed.bench.registeredDevice()
        for arrived in ["", "{}", body + " ", String(body.dropLast()), body.replacingOccurrences(of: "t", with: "f")] {
            let first = try signed.first(&device, body: body)
            #expect(try signed.refusal(first, arrived: arrived).answer == .bodyDigestMismatch, "\(arrived)")
            // The client's own body and a proxy that lies about its length.
            var longer = first
            longer[.originalLength] = "1000"
            #expect(try signed.refusal(longer).answer == .bodyDigestMismatch)
        }
        // A digest of the swapped body doesn't help: the signature is over the other one.
        var swapped = try signed.first(&device, body: body)
        swapped[.bodyDigest] = SignedBench.base64(sha256(Array("{}".utf8)))
        swapped[.originalLength] = "2"
        #expect(try signed.refusal(swapped, arrived: "{}").answer == .signedAssertionRejected)
    }

    @Test func `body without digest, digest without body, and a digest at a GET are refused`() throws {
        var device = try signed.bench.registeredDevice()
        var sent = try signed.first(&device, body: body)
        sent[.bodyDigest] = nil
        #expect(try signed.refusal(sent).answer == .bodyDigestMismatch)
        sent = try signed.first(&device)
        sent[.bodyDigest] = SignedBench.base64(sha256([]))
        #expect(try signed.refusal(sent).answer == .bodyDigestMismatch)
        #expect(try signed.refusal(sent, "GET").answer == .digestNotAccepted)
        sent = try signed.second(&device, body: body)
        sent[.bodyDigest] = SignedBench.base64(sha256([]))
        #expect(try signed.refusal(sent).answer == .bodyDigestMismatch)
    }

    @Test func `recipe 2 is for one method and one URL`() throws {
        var device = try signed.bench.registeredDevice()
        for (method, url, check) in [
            ("POST", SignedBench.url, AdmissionCheck.htm), ("put", SignedBench.url, .htm),
            ("PUT", "https://api.example.com/other", .htu), ("PUT", "http://api.example.com/preferences", .htu),
            ("PUT", "https://api.example.com:444/preferences", .htu),
            ("PUT", "https://other.example.com/preferences", .htu),
        ] {
            let sent = try signed.second(&device, body: body)
            let refusal = try signed.refusal(sent, method, url)
            #expect(refusal.answer == .signedAssertionRejected && refusal.failed.check == check, "\(method) \(url)")
            #expect(try signed.authorize(sent, "PUT", SignedBench.url + "?a=b").verified != nil)
        }
    }

    @Test func `the signature of one recipe isn't the other's`() throws {
        var device = try signed.bench.registeredDevice()
        var first = try signed.first(&device)
        let challenge = try #require(first[.challenge])
        first[.clientData] = SignedBench.clientData(challenge, "PUT", SignedBench.url, "absent")
        #expect(try signed.refusal(first).answer == .signedAssertionRejected)
        var second = try signed.second(&device)
        second[.clientData] = SignedBench.clientData(try #require(second[.challenge]))
        second[.originalLength] = "0"
        #expect(try signed.refusal(second).answer == .signedAssertionRejected)
        // The client data of recipe 2 as the body of recipe 1.
        let data = try #require(try signed.second(&device)[.clientData])
        var mixed = try signed.first(&device, body: data)
        mixed[.clientData] = data
        mixed[.bodyDigest] = nil
        mixed[.originalLength] = "0"
        #expect(try signed.refusal(mixed, arrived: "").failed.check == .clientData)
    }

    @Test(arguments: [SignedField.keyID, .challenge, .assertion, .clientData])
    func `each field is required once, not empty, and in its form`(field: SignedField) throws {
        var device = try signed.bench.registeredDevice()
        let good = try signed.first(&device, body: body)
        var sent = good
        sent[field] = nil
        #expect(try signed.refusal(sent).answer == .signedFieldMissing)
        sent[field] = ""
        #expect(try signed.refusal(sent).answer == .signedFieldMissing)
        let text = try #require(good[field])
        sent.values[field.name] = [text, text]
        #expect(try signed.refusal(sent).answer == .signedFieldsMalformed)
        for wrong in ["%", text + "%", String(repeating: "A", count: 20_000)] {
            sent[field] = wrong
            #expect(try signed.refusal(sent).answer == .signedFieldsMalformed, "\(field.name)")
        }
        // Nothing was used up.
        #expect(try signed.authorize(good).verified != nil)
    }

    @Test func `a wrong digest field and a wrong length are refused`() throws {
        var device = try signed.bench.registeredDevice()
        let good = try signed.first(&device, body: body)
        for wrong in ["", "AAAA", "%", SignedBench.base64(Array(repeating: 1, count: 33))] {
            var sent = good
            sent[.bodyDigest] = wrong
            #expect(try signed.refusal(sent).answer == .signedFieldsMalformed, "\(wrong)")
        }
        for wrong in ["", "x", "-1", "1e3", " 17", "99999999999"] {
            var sent = good
            sent[.originalLength] = wrong
            #expect(try signed.refusal(sent).answer == .signedFieldsMalformed, "\(wrong)")
        }
        var sent = good
        sent.values[SignedField.originalLength.name] = ["17", "17"]
        #expect(try signed.refusal(sent).answer == .signedFieldsMalformed)
        #expect(try signed.authorize(good).verified != nil)
    }

    @Test func `recipe 1 needs a body that was seen, of a length that is known`() throws {
        var device = try signed.bench.registeredDevice()
        let sent = try signed.first(&device)
        var unstated = sent
        unstated[.originalLength] = nil
        #expect(try signed.refusal(unstated).failed.check == .bodyDigest)
        #expect(try signed.authorize(sent, hashesBody: false).refusal?.answer == .signedFieldsMalformed)
        var off = signed
        off.seesBodies = false
        #expect(try off.refusal(sent).answer == .signedFieldsMalformed)
        // Recipe 2 doesn't.
        #expect(try off.authorize(try signed.second(&device, body: body), hashesBody: false).verified != nil)
    }

    @Test func `a body at the limit passes, and one more byte doesn't`() throws {
        var device = try signed.bench.registeredDevice()
        var small = signed
        small.maximumBodyBytes = body.utf8.count
        #expect(try small.authorize(try signed.first(&device, body: body)).verified != nil)
        for sent in [try signed.first(&device, body: body + " "), try signed.second(&device, body: body + " ")] {
            var stated = sent
            stated[.originalLength] = String(body.utf8.count + 1)
            let refusal = try small.refusal(stated)
            #expect(refusal.answer == .bodyTooLarge && refusal.failed.check == .body)
            // Nothing was used up.
            #expect(try signed.authorize(stated).verified != nil)
        }
    }

    // MARK: Challenges

    @Test func `challenges of other dialects, of others' keys, and late ones are refused`() throws {
        var device = try signed.bench.registeredDevice()
        let challenges = signed.bench.challenges
        let guide = bytesOf(hex: challenges.issue(at: start).nonce)
        let token = try #require(Base64URL.decode(challenges.issueForToken(at: start).nonce))
        let foreign = try SignedBench().challenge()
        for challenge in [SignedBench.base64(guide), SignedBench.base64(token), foreign, "AAAA"] {
            let data = SignedBench.clientData(challenge)
            var sent = try signed.sent(
                by: &device, clientData: data, challenge: challenge, hash: sha256(Array(data.utf8)))
            sent[.originalLength] = "0"
            #expect(try signed.refusal(sent).answer == .signedChallengeRefused)
        }
        let sent = try signed.first(&device)
        #expect(try signed.authorize(sent, at: start + 60_000).refusal?.answer == .signedChallengeRefused)
        #expect(try signed.authorize(sent, at: start + 59_999).verified != nil)
    }

    @Test func `nobody spends another's challenge`() throws {
        var device = try signed.bench.registeredDevice()
        var other = try signed.bench.registeredDevice()
        let sent = try signed.first(&device, body: body)
        var stolen = sent
        stolen[.keyID] = SignedBench.base64(other.keyID)
        #expect(try signed.refusal(stolen).answer == .signedAssertionRejected)
        stolen[.assertion] = SignedBench.base64(try other.assert(clientDataHash: sha256([1])))
        #expect(try signed.refusal(stolen).answer == .signedAssertionRejected)
        #expect(try signed.authorize(sent).verified != nil)
    }

    // MARK: Keys and counters

    @Test func `an unknown key has to be attested again, and a revoked one mustn't be`() throws {
        var unknown = SimulatedDevice(app: Bench.app)
        #expect(try signed.refusal(try signed.first(&unknown)).answer == .reattestationRequired)
        var outside = try signed.bench.registeredDevice(app: Bench.unknownApp)
        #expect(try signed.refusal(try signed.first(&outside)).answer == .reattestationRequired)
        var revoked = try signed.bench.registeredDevice { $0.revokedAt = 1 }
        let refusal = try signed.refusal(try signed.first(&revoked))
        #expect(refusal.status == 403 && refusal.code == .keyRevoked)
        var blocked = try signed.bench.registeredDevice()
        var other = signed
        other.blockList = try BlockList("key " + SignedBench.base64(blocked.keyID))
        #expect(try other.refusal(try signed.first(&blocked)).answer == .deviceBlocked)
    }

    @Test func `a device of a blocked account is refused`() throws {
        var device = try signed.bench.registeredDevice()
        let account = try #require(AccountID(bytes: [UInt8](repeating: 3, count: AccountID.length)))
        var other = signed
        other.blockList = try BlockList("account \(account)", kinds: [AccessTokenMethod.accountBlockListKind])
        #expect(try other.authorize(try signed.first(&device)).verified != nil)
        signed.bench.registry.note(account, ofDevice: try #require(KeyID(bytes: device.keyID)))
        #expect(try other.refusal(try signed.first(&device)).answer == .deviceBlocked)
    }

    @Test func `requests that arrive out of order pass, each once`() throws {
        var device = try signed.bench.registeredDevice()
        let sent = try (0..<32).map { _ in try signed.first(&device) }
        for request in sent.reversed() { #expect(try signed.authorize(request).verified != nil) }
        // The same counter again, with another challenge.
        device.counter = 12
        #expect(try signed.refusal(try signed.first(&device)).answer == .signedAssertionRejected)
        device.counter = 32
        #expect(try signed.authorize(try signed.first(&device)).verified != nil)
        var strict = signed
        strict.windowSize = 0
        let (one, two) = (try signed.first(&device), try signed.first(&device))
        #expect(try strict.authorize(two).verified != nil)
        #expect(try strict.refusal(one).answer == .signedAssertionRejected)
    }

    @Test func `a counter far above the last one is another device's`() throws {
        var device = try signed.bench.registeredDevice()
        device.counter = 1_000_000
        let refusal = try signed.refusal(try signed.first(&device))
        #expect(refusal.answer == .signedKeyMismatch && refusal.failed.check == .counterRise)
        #expect(refusal.signer == SignedBench.base64(device.keyID))
        device.counter = 999_999
        #expect(try signed.authorize(try signed.first(&device)).verified != nil)
    }

    @Test func `a location can demand a method`() throws {
        var device = try signed.bench.registeredDevice()
        let sent = try signed.first(&device)
        #expect(try signed.authorize(sent, methods: ["token"]).refusal?.answer == .wayNotAllowed)
        #expect(try signed.authorize(sent, methods: ["signed"]).verified != nil)
    }

    @Test func `a gateway that admits tokens alone admits no signature, whatever a location demands`() throws {
        var device = try signed.bench.registeredDevice()
        let sent = try signed.first(&device)
        for admitted: Set<String> in [["token"], ["token", "dev"]] {
            var closed = signed
            closed.admits = admitted
            for methods: Set<String>? in [nil, ["signed"], ["token", "signed"], []] {
                let refusal = try closed.authorize(sent, methods: methods).refusal
                #expect(refusal?.answer == .wayNotAllowed && refusal?.failed.check == .route, "\(admitted)")
            }
            // Nor without a key, or with other mistakes: nothing else is said about it.
            var keyless = sent
            keyless[.keyID] = nil
            #expect(try closed.refusal(keyless).answer == .wayNotAllowed)
        }
        // Nothing was used up.
        #expect(try signed.authorize(sent).verified != nil)
    }

    /// One assertion is good once in all dialects.
    @Test func `an assertion of an upgrade is none of a request, and its counter counts for all`() throws {
        var device = try signed.bench.registeredDevice()
        let guide = try signed.bench.assertion(by: &device)
        #expect(signed.gate.evaluate(signed.bench.request(guide)).admitted != nil)
        device.counter = 0
        #expect(try signed.refusal(try signed.first(&device)).answer == .signedAssertionRejected)
        #expect(try signed.authorize(try signed.first(&device)).verified != nil)
        device.counter = 1
        let late = try signed.bench.assertion(by: &device)
        #expect(signed.gate.evaluate(signed.bench.request(late)).refusal?.answer == .assertionRejected)
    }
}

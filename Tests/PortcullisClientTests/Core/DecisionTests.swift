import Foundation
import Testing

@testable import PortcullisClient

@Suite("Decisions")
struct DecisionTests {
    // MARK: The circuit breaker

    @Test func `the breaker opens with the third failure in five minutes, and closes five minutes after the first`() {
        var breaker = CircuitBreaker()
        for time in [0.0, 100] {
            breaker.failed(at: time)
            #expect(breaker.wait(at: time) == nil)
        }
        breaker.failed(at: 200)
        #expect(breaker.wait(at: 200) == 100 && breaker.wait(at: 299.5) == 0.5)
        #expect(breaker.wait(at: 300) == nil)
        breaker.failed(at: 300)
        #expect(breaker.wait(at: 300) == 100)
    }

    @Test func `failures that are further apart don't open it, and a reset closes it`() {
        var breaker = CircuitBreaker()
        for time in [0.0, 150, 301, 452] { breaker.failed(at: time) }
        #expect(breaker.wait(at: 452) == nil)
        breaker.failed(at: 453)
        #expect(breaker.wait(at: 453) != nil)
        breaker.reset()
        #expect(breaker.wait(at: 453) == nil)
    }

    // MARK: Back-off

    @Test func `delays double up to the longest, with jitter`() {
        let backoff = Backoff(first: 1, longest: 60)
        let middle = (1...9).map { backoff.delay(attempt: $0, retryAfter: nil, random: 1) }
        #expect(middle == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        #expect(backoff.delay(attempt: 3, retryAfter: nil, random: 0) == 2)
        #expect(backoff.delay(attempt: .max, retryAfter: nil, random: 1) == 60)
        #expect(backoff.delay(attempt: 0, retryAfter: nil, random: 1) == 1)
    }

    @Test func `the server's wish is a lower bound, up to an hour`() {
        let backoff = Backoff(first: 1, longest: 60)
        #expect(backoff.delay(attempt: 1, retryAfter: 7, random: 0) == 7)
        #expect(backoff.delay(attempt: 9, retryAfter: 7, random: 1) == 60)
        #expect(backoff.delay(attempt: 1, retryAfter: 1e9, random: 0) == 3_600)
    }

    @Test func `a bucket permits a burst, and then a rate`() {
        var bucket = RateBucket(capacity: 3, rate: 0.5)
        #expect((0..<3).map { _ in bucket.take(at: 10) } == [0, 0, 0])
        #expect(bucket.take(at: 10) == 2 && bucket.take(at: 10) == 4)
        #expect(bucket.take(at: 20) == 0)
        // A clock that goes backwards gives nothing.
        #expect(bucket.take(at: 0) >= 0)
    }

    // MARK: Tokens

    @Test func `a token is renewed 60 s before its end`() {
        var cache = TokenCache()
        _ = cache.keep("t", lifetime: 300, requested: 1_000, isDevelopment: false)
        #expect(cache.fresh(at: 1_239.9) != nil)
        #expect(cache.fresh(at: 1_240) == nil)
        _ = cache.keep("u", lifetime: 60, requested: 1_000, isDevelopment: false)
        #expect(cache.fresh(at: 1_000) == nil)
        let token = cache.keep("v", lifetime: .max, requested: 0, isDevelopment: true)
        #expect(token.end == 86_400 && token.isDevelopment)
        #expect(cache.keep("w", lifetime: -5, requested: 0, isDevelopment: false).end == 0)
    }

    @Test func `only the refused token is discarded`() {
        var cache = TokenCache()
        let old = cache.keep("old", lifetime: 300, requested: 0, isDevelopment: false)
        _ = cache.keep("new", lifetime: 300, requested: 0, isDevelopment: false)
        cache.discard(old)
        #expect(cache.fresh(at: 0)?.text == "new")
        cache.clear()
        #expect(cache.fresh(at: 0) == nil)
    }

    // MARK: Challenges

    private func challenge(expiry: Double?, server: Double?, local: Double? = nil) -> HeldChallenge {
        HeldChallenge("c", bytes: [], expiry: expiry, serverTime: server, localTime: local, received: 100)
    }

    @Test func `a challenge is used at most until 30 s before its end`() {
        let challenge = challenge(expiry: 1_800_000_060, server: 1_800_000_000)
        #expect(challenge.isUsable(at: 129.9) && !challenge.isUsable(at: 130))
    }

    @Test func `the device's date doesn't matter where the server tells its own`() {
        let at1970 = challenge(expiry: 1_800_000_060, server: 1_800_000_000, local: 0)
        #expect(at1970.isUsable(at: 129.9) && !at1970.isUsable(at: 130))
    }

    @Test func `an end that can't be believed counts as 60 s`() {
        for (expiry, server) in [(nil, nil), (0, 1_800_000_000), (1e300, 0), (1_800_000_000, 0), (5, 10)]
            as [(Double?, Double?)]
        {
            let challenge = challenge(expiry: expiry, server: server)
            #expect(challenge.isUsable(at: 129.9) && !challenge.isUsable(at: 130), "\(expiry ?? -1)")
        }
        #expect(challenge(expiry: .nan, server: 0).isUsable(at: 129.9))
    }

    @Test func `a challenge of a few seconds can be used for half of them`() {
        let challenge = challenge(expiry: 110, server: 100)
        #expect(challenge.isUsable(at: 104.9) && !challenge.isUsable(at: 105))
    }

    // MARK: Nonces and clocks

    @Test func `a nonce is kept for its own origin, within bounds`() {
        var nonces = ServerNonces()
        nonces.keep("n1", of: "https://a")
        nonces.keep("n2", of: "https://a")
        #expect(nonces["https://a"] == "n2" && nonces["https://b"] == nil)
        for index in 0..<ServerNonces.maximumOrigins { nonces.keep("x", of: "https://\(index)") }
        #expect(nonces["https://a"] == nil && nonces["https://0"] == "x")
        for wrong in ["", "a b", "a\u{7F}", "é", String(repeating: "n", count: ServerNonces.maximumBytes + 1)] {
            nonces.keep(wrong, of: "https://0")
            #expect(nonces["https://0"] == "x")
        }
        #expect(ServerNonces.isValid(String(repeating: "n", count: ServerNonces.maximumBytes)))
    }

    @Test func `the clock's difference is that of the middle of a request`() {
        var difference = ClockDifference()
        difference.note(serverTime: 1_000, sent: 990, received: 992)
        #expect(difference.seconds == 9.5 && !difference.isTooLarge)
        difference.note(serverTime: 1_000, sent: 0, received: 2)
        #expect(difference.isTooLarge)
        // The device's clock was set back meanwhile.
        difference.note(serverTime: 5, sent: 10, received: 4)
        #expect(difference.seconds == 999.5)
    }

    // MARK: Refusals

    private func refusal(_ status: Int, _ body: String, _ headers: [String: String] = [:]) -> Refusal {
        RefusalReader.refusal(
            status: status, header: { headers[$0] }, body: Array(body.utf8), maximumBytes: ClientLimits.gateBodyBytes)
    }

    @Test func `a refusal of the gate is read in each of its forms`() {
        let upgrade = refusal(
            401,
            #"{"error":"Unknown key: requires re-attestation","code":"unknown_key","requestId":"91347244767f1a80"}"#)
        #expect(upgrade.code == "unknown_key" && upgrade.requestId == "91347244767f1a80" && upgrade.reaction == .newKey)
        let token = refusal(
            400, #"{"error":"clock_skew","error_description":"clock_skew: The clock differs","code":"clock_skew"}"#)
        #expect(
            token.code == "clock_skew" && token.message == "clock_skew: The clock differs"
                && token.reaction == .setClock)
        let fields = ["x-refusal-code": "draining", "x-refusal-request-id": "r1", "retry-after": "3"]
        let apple = refusal(503, "", fields)
        #expect(apple.code == "draining" && apple.retryAfter == 3 && apple.reaction == .wait && apple.requestId == "r1")
        #expect(refusal(503, #"{"requestId":"r2"}"#, fields).requestId == "r2")
        #expect(refusal(503, "", ["x-refusal-request-id": "a b"]).requestId == nil)
        let proxy = refusal(401, "<html>", ["www-authenticate": #"DPoP error="invalid_token", algs="ES256""#])
        #expect(proxy.code == "invalid_token" && proxy.reaction == .newToken)
        let other = refusal(401, #"{"error":"attestation_failed","error_description":"registration required"}"#)
        #expect(other.code == "attestation_failed" && other.reaction == .newKey)
    }

    @Test(arguments: [
        (401, "app attest Key Mismatch", Reaction.newKey), (428, "device requires re-attestation", .newKey),
        (428, "", .newKey), (401, "invalid or expired challenge", .newChallenge),
        (401, "invalid app attest assertion", .newChallenge), (400, "attestation payload required", .newKey),
        (403, "key mismatch", .giveUp), (503, "requires re-attestation", .wait), (429, "registration required", .wait),
        (500, "", .wait), (403, "", .giveUp), (401, "", .otherCredentials), (404, "", .fixConfiguration),
    ])
    func `words and statuses without a code`(status: Int, text: String, reaction: Reaction) {
        #expect(refusal(status, text).reaction == reaction)
        #expect(refusal(status, #"{"message":"\#(text)"}"#).reaction == reaction)
    }

    @Test func `what is kept of a refusal is short, printable and no secret`() {
        let token = String(repeating: "eyJ0", count: 30)
        let long = refusal(400, #"{"error":"bad \u0000\u001b[31m \#(token) end","code":"UPPER","requestId":"a b"}"#)
        #expect(long.message == "bad [31m […] end" && long.code == "" && long.requestId == nil)
        let huge = refusal(400, String(repeating: "é ", count: 100_000))
        #expect(huge.message.utf8.count <= 512)
        #expect(refusal(400, #"{"code":"\#(String(repeating: "a", count: 40))"}"#).code != "")
        let challenge = String(repeating: "a", count: 41)
        let repeated = refusal(400, #"{"code":"\#(challenge)","requestId":"\#(challenge)"}"#)
        #expect(repeated.code == "" && repeated.requestId == nil && !repeated.description.contains(challenge))
        for wrong in ["-1", "1.5", "soon", "", "9999999999999999999"] {
            #expect(refusal(429, "", ["retry-after": wrong]).retryAfter == nil, "\(wrong)")
        }
        #expect(refusal(429, "", ["retry-after": "999999999"]).retryAfter == 3_600)
    }
}

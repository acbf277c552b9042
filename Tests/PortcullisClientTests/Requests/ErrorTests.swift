import Foundation
import Testing

@testable import PortcullisClient

@Suite("Errors")
struct ErrorTests {
    private static let refusal = Refusal(
        status: 503, code: "draining", message: "The gateway is shutting down", requestId: "r1", retryAfter: 7)

    private static let all: [(error: GateError, retry: RetryAdvice)] = [
        (.configuration(.invalidURL), .never), (.appAttestUnsupported, .never), (.appAttest(.invalidKey), .never),
        (.appAttest(.serverUnavailable), .after(30)), (.deviceKey("x"), .after(1)),
        (.storage("OSStatus -25308"), .after(1)),
        (.refused(refusal), .after(7)), (.refused(Refusal(status: 403)), .never),
        (.refused(Refusal(status: 401, code: "unknown_key")), .now),
        (.refused(Refusal(status: 401, code: "shared_secret_required")), .afterUserAction),
        (.clockSkew(seconds: 61, Refusal(status: 401, code: "clock_skew")), .afterUserAction),
        (.network(.offline), .afterUserAction),
        (.network(.unreachable), .after(1)), (.network(.pinMismatch), .never), (.network(.untrustedServer), .never),
        (.timedOut(.attestKey), .after(1)), (.malformedAnswer(.notJSON), .never), (.redirected(status: 302), .never),
        (.circuitOpen(.token, retryAfter: 90.2), .after(90.2)), (.mustWait(.token, retryAfter: 100), .after(100)),
        (.notConnected, .now), (.signInRequired, .afterUserAction), (.passkey(.unsupported), .never),
        (.passkey(.cancelled), .afterUserAction), (.passkey(.other(3)), .afterUserAction),
        (.unlock(.unsupported), .afterUserAction), (.unlock(.cancelled), .afterUserAction),
        (.unlock(.wrongPIN(attemptsLeft: 4)), .afterUserAction),
        (.unlock(.wrongPIN(attemptsLeft: 0)), .afterUserAction),
        (.unlock(.unusablePIN), .afterUserAction), (.unlock(.keyGone), .afterUserAction),
        (.unlock(.other(-8)), .afterUserAction),
        (.refused(Refusal(status: 409, code: "too_many_passkeys")), .afterUserAction),
        (.inputRefused(.queueFull), .after(1)), (.inputRefused(.tooLarge), .never), (.cancelled, .now),
    ]

    @Test func `each says whether to try again, and what to tell the user`() {
        for (error, retry) in Self.all {
            #expect(error.retry == retry, "\(error)")
            #expect(error.userMessage.hasSuffix(".") && !error.description.isEmpty, "\(error)")
            // A user isn't shown codes, and a log has no line breaks.
            #expect(!error.userMessage.contains("_") && !error.description.contains("\n"))
            #expect((error as any Error).localizedDescription == error.description)
        }
        #expect(
            GateError.refused(Self.refusal).description
                == "the gate refused: 503 draining: The gateway is shutting down (request r1)")
        #expect(GateError.circuitOpen(.token, retryAfter: 90.2).userMessage.hasSuffix("2 minutes."))
        #expect(GateError.mustWait(.token, retryAfter: 0.2).userMessage.hasSuffix("1 seconds."))
    }

    @Test func `any other error is wrapped without its content`() {
        struct Secretive: Error { let token = "secret" }
        #expect(GateError(wrapping: Secretive()) == .network(.other("Secretive")))
        #expect(GateError(wrapping: CancellationError()) == .cancelled)
        #expect(GateError(wrapping: AppAttestFailure.unsupported) == .appAttestUnsupported)
        #expect(GateError(wrapping: AnswerFault.notJSON) == .malformedAnswer(.notJSON))
    }

    @Test(arguments: [
        (0, AppAttestFailure.systemFailure), (1, .unsupported), (2, .invalidInput), (3, .invalidKey),
        (4, .serverUnavailable), (9, .other(9)),
    ])
    func `Apple's codes have their names`(code: Int, failure: AppAttestFailure) {
        #expect(
            AppAttestFailure(domain: "com.apple.devicecheck.error", code: code, own: "com.apple.devicecheck.error")
                == failure)
        #expect(
            AppAttestFailure(domain: "NSURLErrorDomain", code: code, own: "com.apple.devicecheck.error") == .other(code)
        )
        #expect(failure.wantsNewKey == [2, 3].contains(code) && failure.isPassing == [0, 4].contains(code))
    }

    @Test(arguments: [(1_001, PasskeyFailure.cancelled), (1_006, .known), (1_004, .other(1_004))])
    func `the codes of Apple's passkeys have their names`(code: Int, failure: PasskeyFailure) {
        #expect(PasskeyFailure(domain: "own", code: code, own: "own") == failure)
        #expect(PasskeyFailure(domain: "other", code: code, own: "own") == .other(code))
        #expect(GateError(wrapping: failure) == .passkey(failure) && failure.userMessage.hasSuffix("."))
    }

    @Test(arguments: [
        (-2, UnlockFailure.cancelled), (-3, .cancelled), (-4, .cancelled), (-9, .cancelled), (-5, .unsupported),
        (-6, .unsupported), (-7, .unsupported), (-1, .other(-1)), (-8, .other(-8)), (-1_004, .other(-1_004)),
    ])
    func `the codes of Apple's local authentication have their names`(code: Int, failure: UnlockFailure) {
        #expect(UnlockFailure(domain: "own", code: code, own: "own") == failure)
        #expect(UnlockFailure(domain: "other", code: code, own: "own") == .other(code))
        #expect(GateError(wrapping: failure) == .unlock(failure))
    }

    @Test(arguments: [-3, -6, -8]) func `a wrapping key is gone as a device key is`(code: Int) {
        #expect(UnlockFailure(domain: "CryptoTokenKit", code: code, own: "own") == .keyGone)
        #expect(UnlockFailure(domain: "CryptoTokenKit", code: -7, own: "own") == .other(-7))
    }

    // MARK: What URLSession tells

    @Test func `a task's end is an answer, a refusal or a problem`() async throws {
        let answer = GateResponse(status: 200, headers: [:])
        let exchange = ResponseExchange(maximumBytes: 4)
        #expect(exchange.receive(Data([1, 2])) && exchange.receive(Data([3, 4])))
        exchange.end(answer, nil)
        #expect(try await exchange.outcome.value().body == Data([1, 2, 3, 4]))
        let large = ResponseExchange(maximumBytes: 4)
        #expect(large.receive(Data([1, 2, 3, 4])) && !large.receive(Data([5])) && !large.receive(Data([6])))
        large.end(answer, .connectionLost)
        await #expect(throws: AnswerFault.bodyTooLarge) { try await large.outcome.value() }
        let lost = ResponseExchange(maximumBytes: 4)
        lost.end(answer, .offline)
        await #expect(throws: NetworkProblem.offline) { try await lost.outcome.value() }
        #expect(UpgradeRefusal.error(GateResponse(status: 401, headers: [:]), .connectionLost) is UpgradeRefusal)
        #expect(UpgradeRefusal.error(GateResponse(status: 101, headers: [:]), .tls) as? NetworkProblem == .tls)
        #expect(UpgradeRefusal.error(nil, nil) as? NetworkProblem == .connectionLost)
    }

    @Test(arguments: [
        (1_000, WebSocketEnd.closed(code: 1_000, reason: "r")), (1_005, .closed(code: 1_005, reason: "r")),
        (1_012, .closed(code: 1_012, reason: "r")),
        (0, .lost(.offline)), (1_006, .lost(.offline)), (1_015, .lost(.offline)), (-1, .lost(.offline)),
        (70_000, .lost(.offline)),
    ])
    func `a WebSocket's end has a code, or is a loss`(code: Int, end: WebSocketEnd) {
        #expect(WebSocketEnd(closeCode: code, reason: "r", problem: .offline) == end)
    }

    @Test(arguments: [
        (-1_009, NetworkProblem.offline), (-1_004, .unreachable), (-1_005, .connectionLost), (-1_202, .untrustedServer),
        (-1_200, .tls),
        (-1_011, .other("NSURLError -1011")),
    ])
    func `URLSession's codes have their names`(code: Int, problem: NetworkProblem) {
        #expect(NetworkProblem(urlErrorCode: code) == problem)
    }

    @Test func `trust needs both the system and the pins`() throws {
        let pinned = ServerTrust(pins: [try ServerPin(String(repeating: "A", count: 43) + "=")])
        #expect(ServerTrust().problem(isTrusted: true, certificate: []) == nil)
        #expect(ServerTrust().problem(isTrusted: false, certificate: []) == .untrustedServer)
        #expect(pinned.problem(isTrusted: true, certificate: [1, 2, 3]) == .pinMismatch)
        #expect(pinned.problem(isTrusted: false, certificate: []) == .untrustedServer)
        var debug = pinned
        debug.acceptsAnyCertificate = true
        #expect(debug.problem(isTrusted: false, certificate: []) == .pinMismatch)
    }
}

import Foundation

/// What the transport on URLSession decides, without URLSession: so it is tested on every system.
extension ServerTrust {
    /// Why a server isn't believed; nil: it is.
    ///
    /// - Parameters:
    ///   - isTrusted: what the system says.
    ///   - certificate: the server's, in DER.
    func problem(isTrusted: Bool, certificate: [UInt8]) -> NetworkProblem? {
        var isTrusted = isTrusted
        #if DEBUG
            if acceptsAnyCertificate { isTrusted = true }
        #endif
        guard isTrusted else { return .untrustedServer }
        return acceptsKey(of: certificate) ? nil : .pinMismatch
    }
}

/// The body of one answer, up to its limit.
final class ResponseExchange: Sendable {
    private struct State {
        var body = Data()
        var isTooLarge = false
    }

    let outcome = Race<GateResponse>()
    private let maximumBytes: Int
    private let state = Locked(State())

    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// - Returns: false if it is too much.
    func receive(_ data: Data) -> Bool {
        state.withLock { state in
            state.isTooLarge = state.isTooLarge || state.body.count + data.count > maximumBytes
            if !state.isTooLarge { state.body += data }
            return !state.isTooLarge
        }
    }

    func end(_ answer: GateResponse?, _ problem: NetworkProblem?) {
        let state = state.withLock { $0 }
        if state.isTooLarge { return outcome.finish(.failure(AnswerFault.bodyTooLarge)) }
        guard let answer, problem == nil else { return outcome.finish(.failure(problem ?? .connectionLost)) }
        outcome.finish(.success(GateResponse(status: answer.status, headers: answer.headers, body: state.body)))
    }
}

extension UpgradeRefusal {
    /// What a task tells that ended before its WebSocket was open.
    static func error(_ answer: GateResponse?, _ problem: NetworkProblem?) -> any Error {
        guard let answer, answer.status != 101 else { return problem ?? NetworkProblem.connectionLost }
        return UpgradeRefusal(answer)
    }
}

extension WebSocketEnd {
    /// - Parameter closeCode: 0 if there was no Close frame, 1005 if it had no code.
    init(closeCode: Int, reason: String?, problem: NetworkProblem) {
        guard let code = UInt16(exactly: closeCode), code >= 1_000, code != 1_006, code != 1_015 else {
            self = .lost(problem)
            return
        }
        self = .closed(code: code, reason: reason ?? "")
    }
}

extension NetworkProblem {
    /// - Parameter code: of `NSURLErrorDomain`.
    init(urlErrorCode code: Int) {
        self =
            switch code {
            case -1_009, -1_020: .offline
            case -1_003, -1_004, -1_006: .unreachable
            case -1_001, -1_005, -999: .connectionLost
            case -1_204 ... -1_201: .untrustedServer
            case -1_206, -1_205, -1_200: .tls
            default: .other("NSURLError \(code)")
            }
    }
}

extension AppAttestFailure {
    /// - Parameters:
    ///   - domain: of the error.
    ///   - own: that of App Attest.
    init(domain: String, code: Int, own: String) {
        self = domain.isSame(as: own) ? AppAttestFailure(code: code) : .other(code)
    }
}

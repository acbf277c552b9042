import Foundation

/// Sends requests to the gate and to services behind it, within limits of time and size, and never anywhere else.
struct GateCaller: Sendable {
    let address: GateAddress
    let limits: ClientLimits
    let clock: any ClientClock
    let log: ClientLog
    private let transport: any Transport
    private let difference = Locked(ClockDifference())
    /// What the gate's last answer said, and when by a clock that nobody can set.
    private let told = Locked<(time: Double, now: Double)?>(nil)

    init(_ configuration: GateConfiguration, _ platform: ClientPlatform) {
        (address, limits, clock) = (configuration.address, configuration.limits, platform.clock)
        (transport, log) = (platform.transport, ClientLog(configuration, platform))
    }

    /// The server's clock is ahead by this many seconds; nil before the first answer.
    var clockDifference: Double? { difference.withLock(\.seconds) }

    /// In seconds since 1970; before the first answer by the device's clock.
    var serverTime: Double {
        guard let told = told.withLock({ $0 }) else { return clock.date.timeIntervalSince1970 }
        return told.time + clock.now - told.now
    }

    /// - Throws: ``GateError``; an answer of any status but a redirection is returned.
    func call(_ request: GateRequest, within seconds: Double) async throws -> GateResponse {
        let sent = clock.date.timeIntervalSince1970
        let response = try await clock.limit(seconds, .request) { [transport] in try await transport.send(request) }
        note(response.headers, of: request, sent: sent)
        if (300..<400).contains(response.status), response.status != 304 {
            throw GateError.redirected(status: response.status)
        }
        return response
    }

    func openWebSocket(_ request: GateRequest) async throws -> any WebSocketChannel {
        let sent = clock.date.timeIntervalSince1970
        do {
            return try await clock.limit(limits.upgrade, .upgrade) { [transport] in
                try await transport.openWebSocket(request)
            }
        } catch let refusal as UpgradeRefusal {
            note(refusal.response.headers, of: request, sent: sent)
            throw refusal
        }
    }

    private func note(_ headers: HeaderFields, of request: GateRequest, sent: Double) {
        guard let time = headers["Date"].flatMap({ TimeText.seconds(httpDate: $0) }) else { return }
        if request.url.origin.isSame(as: address.origin) {
            told.withLock { $0 = (Double(time) + 0.5, clock.now) }
        }
        let received = clock.date.timeIntervalSince1970
        let tooLarge = difference.withLock { difference in
            difference.note(serverTime: time, sent: sent, received: received) ? difference.seconds : nil
        }
        if let tooLarge { log.warning("the clock of this device differs by \(Int(tooLarge)) s from the server's") }
    }

    // MARK: The gate's own paths

    /// Sends JSON to a path of the gate.
    func post(_ path: String, _ body: [UInt8], headers: HeaderFields = [:]) async throws -> GateResponse {
        var headers = headers
        headers.add("Content-Type", "application/json")
        return try await send("POST", path, headers: headers, body: Data(body))
    }

    func send(
        _ method: String, _ path: String, headers: HeaderFields = [:], body: Data? = nil
    ) async throws -> GateResponse {
        let request = GateRequest(
            method, try address.url(path), headers: headers, body: body, maximumBytes: ClientLimits.gateBodyBytes)
        return try await call(request, within: limits.gateRequest)
    }

    /// The members of a success.
    ///
    /// - Throws: ``GateError/refused(_:)`` for another status.
    func members(of response: GateResponse, statuses: Set<Int> = [200]) throws -> JSONMembers {
        guard statuses.contains(response.status) else { throw error(for: response) }
        do {
            return try JSONMembers(Array(response.body), maximumBytes: ClientLimits.gateBodyBytes)
        } catch {
            throw GateError.malformedAnswer(error == .tooDeep ? .tooDeep : .notJSON)
        }
    }

    /// What a refusal, or another answer that isn't a success, means.
    func error(for response: GateResponse) -> GateError {
        if (300..<400).contains(response.status) { return .redirected(status: response.status) }
        guard response.status >= 400 else { return .malformedAnswer(.unexpectedStatus(response.status)) }
        let refusal = RefusalReader.refusal(
            status: response.status, header: { response.headers[$0] }, body: Array(response.body),
            maximumBytes: ClientLimits.gateBodyBytes)
        return refusal.reaction == .setClock ? .clockSkew(seconds: clockDifference, refusal) : .refused(refusal)
    }
}

/// Writes what the library does, to whatever the app has given for it.
struct ClientLog: Sendable {
    private let level: LogLevel
    private let write: @Sendable (LogLevel, String) -> Void

    init(_ configuration: GateConfiguration, _ platform: ClientPlatform) {
        (level, write) = (configuration.logLevel, platform.log)
    }

    func debug(_ text: @autoclosure () -> String) { log(.debug, text) }
    func info(_ text: @autoclosure () -> String) { log(.info, text) }
    func warning(_ text: @autoclosure () -> String) { log(.warning, text) }
    func error(_ text: @autoclosure () -> String) { log(.error, text) }

    private func log(_ level: LogLevel, _ text: () -> String) {
        if level >= self.level { write(level, text()) }
    }
}

import FoundationEssentials
import HTTPWire
import KeyStore
import Reactors
import WireText

/// `/console` and what its page asks for, below `/console/api/`. Reactor thread; answers are made on a thread of their
/// own.
///
/// Requests have no body: an action is a POST with its object in the query.
struct ConsoleEndpoint: InternalEndpoint, Sendable {
    private static let maximumSessions = 100
    /// Answers that are made or wait at once, over all reactors.
    private static let maximumPending = 16

    private let server: RelayServer
    private let desks: ConsoleDesks
    private let guardian: ConsoleGuard
    private let page: HTTPAnswer
    private let pending: PendingWork

    init(_ server: RelayServer, at address: InternalAddress, desks: ConsoleDesks) {
        self.server = server
        self.desks = desks
        guardian = ConsoleGuard(address, random: (0..<32).map { _ in UInt8.random(in: .min ... .max) })
        page = ConsolePage.answer(token: guardian.token)
        pending = PendingWork("console", threads: 1, maximum: Self.maximumPending)
    }

    /// - Returns: false if the request is for another endpoint.
    func handle(_ exchange: InternalExchange) -> Bool {
        let path = String(decoding: exchange.head.path, as: UTF8.self)
        guard path.hasSameBytes(as: "/console") || path.hasBytePrefix("/console/") else { return false }
        guard let request = ConsoleRequest(path) else {
            exchange.respond(Self.failure(404, "There is no such page"))
            return true
        }
        let methods = request.isAction ? ["POST"] : ["GET", "HEAD"]
        guard methods.contains(where: exchange.head.isMethod) else {
            exchange.respond(
                Self.failure(405, "This method is not allowed", [("Allow", methods.joined(separator: ", "))]))
            return true
        }
        let (head, isTLS) = (exchange.head, exchange.isTLS)
        if let fault = request.isAction
            ? guardian.checkAction(head, isTLS: isTLS) : guardian.check(head, isTLS: isTLS)
        {
            exchange.respond(Self.failure(403, "Refused: \(fault.rawValue)"))
            return true
        }
        serve(request, exchange)
        return true
    }

    private func serve(_ request: ConsoleRequest, _ exchange: InternalExchange) {
        guard request != .page else { return exchange.respond(page) }
        guard pending.begin() else {
            return exchange.respond(Self.failure(503, "Too many requests wait", [("Retry-After", "1")]))
        }
        let (reactor, query) = (exchange.reactor, ConsoleQuery(exchange.head))
        let pinned = Pinned(exchange, to: reactor)
        Task(executorPreference: pending.threads) {
            let made = await answer(request, query)
            reactor.submit {
                pinned.value.respond(made)
                pending.end()
            }
        }
    }

    // MARK: Answers

    private func answer(_ request: ConsoleRequest, _ query: ConsoleQuery) async -> HTTPAnswer {
        switch request {
        case .page: page
        case .overview: Self.json(await server.figures())
        case .sessions: await sessions(query)
        case .close: await close(query)
        case .devices: await devices(query)
        case .device(let change): await self.change(change, query)
        case .tokens: await tokens(query)
        case .revokeToken: await revokeToken(query)
        }
    }

    private func sessions(_ query: ConsoleQuery) async -> HTTPAnswer {
        let filter = SessionFilter(route: query["route"], subject: query["subject"], address: query["address"])
        let order = SessionQuery.Order(word: query["order"] ?? SessionQuery.Order.age.rawValue)
        guard let order, let limit = query.limit(Self.maximumSessions),
            let page = await server.sessions(
                SessionQuery(filter: filter, order: order, limit: limit, after: query["after"]))
        else { return Self.malformed }
        return Self.json(page)
    }

    private func close(_ query: ConsoleQuery) async -> HTTPAnswer {
        guard let id = query["id"], let count = await server.close(.id(id), detail: Self.detail) else {
            return Self.malformed
        }
        return count > 0 ? Self.done : Self.failure(404, "The session has ended")
    }

    private func devices(_ query: ConsoleQuery) async -> HTTPAnswer {
        guard let devices = desks.devices else { return Self.json(DevicePage(devices: [], next: nil)) }
        guard let limit = query.limit(DevicePage.maximumLimit),
            query["after"].map({ KeyID(text: $0) != nil }) ?? true
        else { return Self.malformed }
        guard let page = await devices.devices(after: query["after"], limit: limit) else { return Self.unreadable }
        return Self.json(page)
    }

    private func change(_ change: DeviceChange, _ query: ConsoleQuery) async -> HTTPAnswer {
        guard let devices = desks.devices, let key = query["key"] else { return Self.malformed }
        return Self.answer(await devices.change(key, change, detail: Self.detail), unknown: "There is no such device")
    }

    private func tokens(_ query: ConsoleQuery) async -> HTTPAnswer {
        guard let tokens = desks.tokens else { return Self.json(DevelopmentTokenPage(tokens: [], next: nil)) }
        guard let limit = query.limit(DevelopmentTokenPage.maximumLimit),
            query["after"].map({ DevelopmentTokenID(text: $0) != nil }) ?? true
        else { return Self.malformed }
        guard let page = await tokens.tokens(after: query["after"], limit: limit) else { return Self.unreadable }
        return Self.json(page)
    }

    private func revokeToken(_ query: ConsoleQuery) async -> HTTPAnswer {
        guard let tokens = desks.tokens, let id = query["id"] else { return Self.malformed }
        return Self.answer(await tokens.revoke(id, detail: Self.detail), unknown: "There is no such token")
    }

    /// For the audit log.
    private static let detail = "in the console"

    private static func answer(_ outcome: DeskOutcome, unknown: String) -> HTTPAnswer {
        switch outcome {
        case .done: done
        case .unknown: failure(404, unknown)
        case .malformed: malformed
        case .failed(let reason): failure(503, reason)
        }
    }

    private static var unreadable: HTTPAnswer { failure(503, "The key store can't be read now") }
    private static var malformed: HTTPAnswer { failure(400, "The request is malformed") }
    private static var done: HTTPAnswer { JSONAnswers.json(200) { $0.member("done", true) } }

    private static func failure(
        _ status: Int, _ text: String, _ headers: [(name: String, value: String)] = []
    ) -> HTTPAnswer {
        var answer = JSONAnswers.json(status) { $0.member("error", text) }
        answer.headers += headers + [("Cross-Origin-Resource-Policy", "same-origin")]
        return answer
    }

    private static func json(_ value: some Encodable) -> HTTPAnswer {
        // Values of strings and numbers: encoding them can't fail.
        let body = (try? JSONEncoder().encode(value)).map { [UInt8]($0) } ?? []
        return HTTPAnswer(
            status: 200,
            headers: [
                ("Content-Type", "application/json"), ("Cache-Control", "no-store"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
            ], body: body)
    }
}

/// Who looks after what is in the store; nil without one.
package struct ConsoleDesks: Sendable {
    let devices: (any DeviceDesk)?
    let tokens: (any DevelopmentTokenDesk)?

    package init(devices: (any DeviceDesk)? = nil, tokens: (any DevelopmentTokenDesk)? = nil) {
        self.devices = devices
        self.tokens = tokens
    }
}

/// What the console's page can ask for.
enum ConsoleRequest: Equatable {
    case page, overview, sessions, close, devices, tokens, revokeToken
    case device(DeviceChange)

    init?(_ path: String) {
        switch WireWord(path) {
        case "/console", "/console/": self = .page
        case "/console/api/overview": self = .overview
        case "/console/api/sessions": self = .sessions
        case "/console/api/sessions/close": self = .close
        case "/console/api/devices": self = .devices
        case "/console/api/devices/revoke": self = .device(.revoke)
        case "/console/api/devices/restore": self = .device(.restore)
        case "/console/api/dev-tokens": self = .tokens
        case "/console/api/dev-tokens/revoke": self = .revokeToken
        default: return nil
        }
    }

    var isAction: Bool {
        switch self {
        case .close, .device, .revokeToken: true
        case .page, .overview, .sessions, .devices, .tokens: false
        }
    }
}

/// The parameters of a request. A malformed one makes all of it malformed.
struct ConsoleQuery: Sendable {
    private let query: RequestQuery

    init(_ head: RequestHead) { query = RequestQuery(head.query) }

    /// Nil where it is absent. A malformed one becomes a text that nothing has.
    subscript(name: String) -> String? {
        switch query[name] {
        case .absent: nil
        case .value(let text): text
        case .malformed: "\u{0}"
        }
    }

    /// - Returns: nil if it is no number from 1 to `maximum`.
    func limit(_ maximum: Int) -> Int? {
        guard let text = self["limit"] else { return maximum }
        return Int(text).flatMap { (1...maximum).contains($0) ? $0 : nil }
    }
}

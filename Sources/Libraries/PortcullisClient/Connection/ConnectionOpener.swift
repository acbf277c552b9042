/// Opens connections for one session: the URL, the credentials, and what a refusal asks for.
struct ConnectionOpener: Sendable {
    let options: ConnectionOptions
    let caller: GateCaller
    let assertions: ConnectionAssertions
    let tokens: AccessTokens
    /// Of a player who has signed in.
    let playerTokens: AccessTokens
    let sharedSecret: String?
    let circuit: OperationGuard

    /// - Parameter query: names the session to resume; empty for a new one.
    func open(query: [(name: String, value: String)]) async throws -> any WebSocketChannel {
        try await circuit.runOnce { try await admitted(query) }
    }

    private func admitted(_ query: [(name: String, value: String)]) async throws -> any WebSocketChannel {
        let url = try url(query)
        switch options.admission {
        case .assertion: return try await assertions.open { try await open(url, $0) }
        case .accessToken: return try await tokens.open(url) { try await open(url, $0) }
        case .account: return try await playerTokens.open(url) { try await open(url, $0) }
        case .clientCertificate, .ticket, .none:
            do { return try await open(url, [:]) } catch let refused as UpgradeRefusal {
                throw caller.error(for: refused.response)
            }
        }
    }

    private func open(_ url: String, _ credentials: HeaderFields) async throws -> any WebSocketChannel {
        var headers = credentials
        if let sharedSecret, headers["Authorization"] == nil { headers.add("Authorization", "Bearer \(sharedSecret)") }
        return try await caller.openWebSocket(
            GateRequest("GET", url, headers: headers, maximumBytes: caller.limits.messageBytes))
    }

    /// Compression is declined: Apple's WebSocket client offers it always, and can't cope with some of its forms.
    private func url(_ session: [(name: String, value: String)]) throws -> String {
        var query = [("dialect", options.dialect.rawValue), ("compression", "off")]
        if let size = options.size { query += [("cols", "\(size.columns)"), ("rows", "\(size.rows)")] }
        if let name = options.clientName { query.append(("client", try QueryText.escaped(name))) }
        if let type = options.terminalType { query.append(("ttype", try QueryText.escaped(type))) }
        if !session.isEmpty {
            query += session.map { ($0.name, $0.value) }
        } else if case .ticket(let ticket) = options.admission {
            query.append(("ticket", try QueryText.escaped(ticket)))
        }
        return try caller.address.webSocketURL(try path(), query: query.map { (name: $0.0, value: $0.1) })
    }

    private func path() throws -> String {
        guard let route = options.route else { return "/" }
        guard (1...64).contains(route.utf8.count),
            route.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "-_.".utf8.contains($0) })
        else { throw ConfigurationProblem.invalidValue("route") }
        return "/mud/\(route)"
    }
}

/// Values of a query.
enum QueryText {
    static func escaped(_ text: String) throws(ConfigurationProblem) -> String {
        guard (1...512).contains(text.utf8.count), text.utf8.allSatisfy({ $0.isVisibleASCII || $0 == 0x20 }) else {
            throw .invalidValue("query")
        }
        return text.utf8.reduce(into: "") { escaped, byte in
            escaped +=
                byte.isASCIILetterOrDigit || "-_.~".utf8.contains(byte)
                ? String(decoding: [byte], as: UTF8.self) : "%" + BinaryText.hexadecimal([byte]).uppercasedASCII
        }
    }
}

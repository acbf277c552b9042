import CLibwebsockets
import HTTPWire
import WebSocketWire

extension EdgeConnection: HTTPDriver {
    // MARK: Reading

    /// Parses requests from `input` until one must be answered. The bytes after it are kept.
    func read(_ input: UnsafeMutableRawBufferPointer) {
        listener.isNotIdle(self)
        let rest = UnsafeMutableRawBufferPointer(rebasing: input[parseRequests(UnsafeRawBufferPointer(input))...])
        guard !rest.isEmpty, !isDoomed else { return }
        if case .webSocket(let webSocket) = stage { return webSocket.received(rest) }
        if http?.keep(rest) == true { reactor.touch(self) }
    }

    var readsRequests: Bool {
        if !isDoomed, case .reading = stage { true } else { false }
    }

    func requestBegan() { arm(limits.headerMilliseconds) }

    func took(_ head: RequestHead) {
        guard isWithinLimit(head) else { return }
        if let opening = Self.opening(head) { return beginUpgrade(head, opening) }
        guard relayed == nil else { return refuse(fault: .relayedRequest) }
        if head.lacksLength { return refuse(fault: .malformed(.lengthRequired)) }
        guard head.framing.hasContent else { return }
        arm(limits.bodyMilliseconds)
        queueContinue(for: head)
    }

    func took(body: UnsafeRawBufferPointer) { http?.append(body) }

    func took(_ fault: RequestFault) {
        if isWithinLimit(nil) { refuse(fault: .malformed(fault)) }
    }

    /// If it returns false, the connection ends.
    private func isWithinLimit(_ head: RequestHead?) -> Bool {
        switch listener.handler.limit(head, peer: client, isUnnamed: isUnnamed || relayed != nil) {
        case .serve(let client):
            requestClient = client
            return true
        case .refuse(let answer): end(with: answer)
        case .close: kill()
        }
        return false
    }

    func tookRequest() {
        guard let (head, body) = http?.takeRequest() else { return }
        arm(at: nil)
        let exchange = HTTPExchange(head: head, body: body, connection: self)
        stage = .answering(exchange)
        listener.handler.handle(exchange)
    }

    /// Nil: the request isn't for a WebSocket.
    private static func opening(_ head: RequestHead) -> Result<OpeningHandshake, OpeningHandshake.Fault>? {
        head.fields.all("upgrade").isEmpty ? nil : OpeningHandshake.judge(OpeningRequest(head))
    }

    // MARK: Answers

    /// Called by the exchange.
    func respond(_ answer: HTTPAnswer) {
        guard case .answering = stage, let head = http?.head else { return }
        write(answer, ResponseWriter(for: head))
    }

    /// Answers a request that no handler has received, and ends the connection: the start of the next request is
    /// unknown.
    func refuse(fault: EdgeFault) { end(with: listener.handler.answer(to: fault, peer: client)) }

    private func end(with answer: HTTPAnswer) {
        var answer = answer
        answer.closesConnection = true
        write(answer, ResponseWriter(closesConnection: true))
    }

    /// Called by the upgrade's exchange.
    func refuse(_ answer: HTTPAnswer) {
        if case .upgrading = stage { end(with: answer) }
    }

    private func write(_ answer: HTTPAnswer, _ writer: ResponseWriter) {
        guard let http else { return }
        var writer = writer
        if answer.closesConnection || listener.isLeaving {
            writer = ResponseWriter(
                version: http.head?.version ?? .http11, isHead: http.parser.isHead, closesConnection: true)
        }
        queue(answer, &writer, strictTransport: isClientTLS ? listener.settings.strictTransport : nil)
        stage = .writing(endsConnection: writer.closesConnection)
        arm(limits.answerMilliseconds)
    }

    func queue(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { output.append($0, from: reactor.buffers) }
        reactor.touch(self)
    }

    /// The response is written: continue with the bytes that followed the request.
    func awaitNextRequest() {
        let next = http?.next(limits: listener.settings.requestLimits)
        stage = .reading
        arm(limits.keepAliveSeconds * 1_000)
        guard var kept = next, !kept.isEmpty else { return listener.isIdle(self) }
        kept.withUnsafeMutableBytes { read($0) }
        reactor.touch(self)
    }

    // MARK: The upgrade

    private func beginUpgrade(_ head: RequestHead, _ opening: Result<OpeningHandshake, OpeningHandshake.Fault>) {
        guard !head.framing.hasContent else { return refuse(fault: .bodyOfUpgrade) }
        let exchange = UpgradeExchange(
            head: head, opening, known: listener.settings.subprotocols, connection: self)
        stage = .upgrading(exchange)
        arm(limits.upgradeMilliseconds)
        guard let relayed else { return listener.handler.handle(exchange) }
        listener.handler.handle(PassedOnUpgrade(upgrade: exchange, preface: relayed))
    }

    /// Called by the upgrade's exchange. The 101 is written at once, so the return value tells reliably whether it was
    /// sent.
    func accept(_ handler: any WebSocketHandler, _ opening: OpeningHandshake, compresses: Bool) -> Bool {
        let limits = MessageLimits(messageBytes: limits.maximumMessageBytes)
        let compression = compresses ? listener.compression(to: opening.extensions, limits) : nil
        guard case .upgrading(let exchange) = stage, let wsi,
            writeSwitch(exchange, opening, compression?.agreement, to: wsi)
        else {
            kill()
            return false
        }
        arm(at: nil)
        if let ssl = lws_get_ssl(wsi) { TLSMaterial.wipeHandshakeSecrets(ssl) }
        let webSocket = WebSocketConnection(
            owner: self, wsi: wsi, handler: handler, limits: limits, compression: compression)
        stage = .webSocket(webSocket)
        var kept = http?.takeKept() ?? []
        endHTTP()
        resume(wsi)
        webSocket.opened()
        kept.withUnsafeMutableBytes { if !$0.isEmpty { webSocket.received($0) } }
        return true
    }

    /// RFC 6455 §4.2.2, item 5.
    private func writeSwitch(
        _ exchange: UpgradeExchange, _ opening: OpeningHandshake, _ compression: DeflateAgreement?,
        to wsi: OpaquePointer
    ) -> Bool {
        var response = Response(.switchingProtocols)
        response.add("Upgrade", "websocket")
        response.add("Sec-WebSocket-Accept", opening.accept)
        if let subprotocol = exchange.subprotocol { response.add("Sec-WebSocket-Protocol", subprotocol) }
        if let compression { response.add("Sec-WebSocket-Extensions", compression.response.text) }
        var bytes: [UInt8] = []
        var writer = ResponseWriter(for: exchange.head)
        writer.write(response, into: &bytes)
        bytes.withUnsafeBytes { output.append($0, from: reactor.buffers) }
        defer { output.release(to: reactor.buffers) }
        let front = output.front(limit: bytes.count)
        return output.count == bytes.count && mayWrite(to: wsi) && write(front, to: wsi) && unsent.isEmpty
    }
}

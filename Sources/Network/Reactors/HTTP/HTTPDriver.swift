import HTTPWire

/// One connection's requests, one after the other: what a client's connection (`EdgeConnection`) and the internal
/// listener's (`InternalConnection`) have in common. It drives the `HTTPStage` and calls the connection at each event,
/// which may end the connection or its HTTP. Reactor thread only.
protocol HTTPDriver: AnyObject {
    /// Nil once the connection doesn't speak HTTP any more.
    var http: HTTPStage? { get set }
    /// Whether the next bytes belong to a request. False while one is being answered.
    var readsRequests: Bool { get }

    /// The first byte of a request has arrived.
    func requestBegan()
    func took(_ head: RequestHead)
    /// The bytes are valid only during the call.
    func took(body: UnsafeRawBufferPointer)
    /// The request is complete; no other one is read until it is answered.
    func tookRequest()
    /// Nothing more can be read.
    func took(_ fault: RequestFault)
    /// Sends the bytes.
    func queue(_ bytes: [UInt8])
}

extension HTTPDriver {
    /// Parses requests until one must be answered.
    ///
    /// - Returns: the number of bytes used. The rest follows the request.
    func parseRequests(_ input: UnsafeRawBufferPointer) -> Int {
        var consumed = 0
        while readsRequests, let wasBegun = http?.parser.hasBegun {
            let rest = UnsafeRawBufferPointer(rebasing: input[consumed...])
            guard let progress = http?.parser.parse(rest.assumingMemoryBound(to: UInt8.self).span) else { break }
            consumed += progress.consumed
            if !wasBegun, http?.parser.hasBegun == true { requestBegan() }
            switch progress.event {
            case .needsMore: return input.count
            case .head(let head):
                http?.begin(head)
                took(head)
            case .body(let range): took(body: UnsafeRawBufferPointer(rebasing: rest[range]))
            case .end: tookRequest()
            case .malformed(let fault): took(fault)
            }
        }
        return consumed
    }

    /// Sends `100 Continue` if the client waits for it.
    func queueContinue(for head: RequestHead) {
        guard head.expectsContinue else { return }
        var bytes: [UInt8] = []
        var writer = ResponseWriter(for: head)
        writer.writeContinue(into: &bytes)
        queue(bytes)
    }

    func queue(_ answer: HTTPAnswer, _ writer: inout ResponseWriter, strictTransport: String?) {
        var bytes: [UInt8] = []
        writer.write(answer.response(strictTransport: strictTransport), body: answer.body, into: &bytes)
        queue(bytes)
    }
}

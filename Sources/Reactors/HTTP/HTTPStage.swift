import HTTPWire

/// What a connection keeps while it speaks HTTP: the request that is being read, and what came behind one that isn't answered yet.
struct HTTPStage {
    /// What a client may send ahead while a request of its is being answered. One read of libwebsockets' may go over it.
    static let maximumKeptBytes = 16_384

    var parser: RequestParser
    private(set) var head: RequestHead?
    private(set) var body: [UInt8] = []
    /// Not parsed yet, in order.
    private var kept: [UInt8] = []

    init(limits: RequestLimits) {
        parser = RequestParser(limits: limits)
    }

    /// As much is kept as may be: the socket isn't read.
    var isFull: Bool { kept.count >= Self.maximumKeptBytes }

    /// - Returns: false where it is more than a paused socket can bring.
    mutating func keep(_ bytes: some Collection<UInt8>) -> Bool {
        kept.append(contentsOf: bytes)
        return kept.count <= Self.maximumKeptBytes + ReadAhead.recordsPerTurn * 16_384
    }

    mutating func takeKept() -> [UInt8] {
        defer { kept = [] }
        return kept
    }

    mutating func begin(_ head: RequestHead) {
        self.head = head
        body = []
    }

    mutating func append(_ piece: UnsafeRawBufferPointer) { body.append(contentsOf: piece) }

    /// The whole request, of which nothing is kept here.
    mutating func takeRequest() -> (head: RequestHead, body: [UInt8])? {
        defer { body = [] }
        return head.map { ($0, body) }
    }

    mutating func reset(limits: RequestLimits) {
        head = nil
        parser = RequestParser(limits: limits)
    }
}

import HTTPWire

/// A connection's state while it speaks HTTP: the current request, and the bytes received after a request that is not
/// answered yet.
struct HTTPStage {
    /// The maximum number of bytes kept while a request is being answered. One read of libwebsockets may exceed it.
    static let maximumKeptBytes = 16_384

    var parser: RequestParser
    private(set) var head: RequestHead?
    private(set) var body: [UInt8] = []
    /// Not parsed yet, in order.
    private var kept: [UInt8] = []

    init(limits: RequestLimits) {
        parser = RequestParser(limits: limits)
    }

    /// The maximum is kept: the socket must not be read.
    var isFull: Bool { kept.count >= Self.maximumKeptBytes }

    /// - Returns: false if it is more than a paused socket can deliver.
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

    /// Returns the whole request and releases its body here.
    mutating func takeRequest() -> (head: RequestHead, body: [UInt8])? {
        defer { body = [] }
        return head.map { ($0, body) }
    }

    /// Continues with the next request.
    ///
    /// - Returns: what followed the one that was answered.
    mutating func next(limits: RequestLimits) -> [UInt8] {
        head = nil
        parser = RequestParser(limits: limits)
        return takeKept()
    }
}

import Compression
import Synchronization
import WebSocketWire

/// Compression settings for the edge's WebSockets (permessage-deflate, RFC 7692). It is used only if the upgrade's
/// handler allows it.
package struct EdgeCompression: Sendable {
    let settings: DeflateSettings
    let memory: CompressionMemory

    /// - Parameters:
    ///   - windowBits: 9 to 15, the maximum for both sides' windows.
    ///   - minimumBytes: shorter messages are sent uncompressed.
    ///   - level: zlib's level, 1 to 9.
    package init(
        windowBits: Int, serverKeepsContext: Bool, clientKeepsContext: Bool, minimumBytes: Int, level: Int,
        memory: CompressionMemory
    ) {
        settings = DeflateSettings(
            serverWindowBits: windowBits, clientWindowBits: windowBits, serverKeepsContext: serverKeepsContext,
            clientKeepsContext: clientKeepsContext, minimumBytes: minimumBytes, level: level)
        self.memory = memory
    }
}

/// The memory budget for the compression state of all WebSockets, shared by all reactors.
package final class CompressionMemory: Sendable {
    private let budget: Mutex<DeflateBudget>
    private let totalBytes: @Sendable () -> Int

    /// - Parameters:
    ///   - sessionBytes: limit for one WebSocket.
    ///   - totalBytes: limit for all WebSockets together. It is read at each use; agreements that were made stay.
    package init(sessionBytes: Int, totalBytes: @autoclosure @escaping @Sendable () -> Int) {
        self.totalBytes = totalBytes
        budget = Mutex(
            DeflateBudget(
                limits: .init(sessionBytes: sessionBytes, totalBytes: totalBytes()),
                costs: DeflateCosts(MessageInflateEngine.self, MessageDeflateEngine.self)))
    }

    /// With the limits of now.
    private func use<Value: Sendable>(_ body: (inout DeflateBudget) -> Value) -> Value {
        let totalBytes = totalBytes()
        return budget.withLock { budget in
            budget.limits.totalBytes = totalBytes
            return body(&budget)
        }
    }

    package var reservedBytes: Int { budget.withLock { $0.reservedBytes } }

    /// Nil if no offer is acceptable or no memory is left: the WebSocket is then not compressed.
    func agree(to offers: [WebSocketExtension], settings: DeflateSettings) -> CompressionShare? {
        guard let agreement = use({ $0.agree(to: offers, settings: settings) }) else { return nil }
        return CompressionShare(agreement, of: self)
    }

    fileprivate func release(_ agreement: DeflateAgreement, isDeflaterSuspended: Bool) {
        budget.withLock { $0.release(agreement, isDeflaterSuspended: isDeflaterSuspended) }
    }

    fileprivate func suspendDeflater(of agreement: DeflateAgreement) -> Bool {
        use { $0.suspendDeflater(of: agreement) }
    }

    fileprivate func resumeDeflater(of agreement: DeflateAgreement) -> Bool {
        use { $0.resumeDeflater(of: agreement) }
    }
}

/// A compression agreement and its share of the memory budget. The memory is returned with the last reference.
final class CompressionShare {
    let agreement: DeflateAgreement
    private let memory: CompressionMemory
    private(set) var isDeflaterSuspended = false

    fileprivate init(_ agreement: DeflateAgreement, of memory: CompressionMemory) {
        self.agreement = agreement
        self.memory = memory
    }

    /// Returns the deflater's memory if most of the budget is in use.
    func suspendDeflater() -> Bool {
        guard !isDeflaterSuspended, memory.suspendDeflater(of: agreement) else { return false }
        isDeflaterSuspended = true
        return true
    }

    /// - Returns: whether there is memory for the deflater again.
    func resumeDeflater() -> Bool {
        guard isDeflaterSuspended, memory.resumeDeflater(of: agreement) else { return false }
        isDeflaterSuspended = false
        return true
    }

    deinit { memory.release(agreement, isDeflaterSuspended: isDeflaterSuspended) }
}

/// The deflaters of one reactor that keep no context. Each serves any number of WebSockets, one message at a time.
/// Reactor thread only.
final class SharedDeflaters {
    /// zlib's compression level.
    let level: Int
    private var engines: [Int: MessageDeflateEngine] = [:]

    init(level: Int) { self.level = level }

    /// - Returns: nil if there is no memory for an engine.
    func engine(for agreement: DeflateAgreement) -> MessageDeflateEngine? {
        if let engine = engines[agreement.serverWindowBits] { return engine }
        let made = try? MessageDeflateEngine(agreement, level: level)
        engines[agreement.serverWindowBits] = made
        return made
    }
}

extension MessageDeflateEngine {
    convenience init(_ agreement: DeflateAgreement, level: Int) throws(DeflateEngineFault) {
        try self.init(
            windowBits: agreement.serverWindowBits, memoryLevel: agreement.memoryLevel, level: level)
    }
}

import Compression
import Synchronization
import WebSocketWire

/// How the edge compresses WebSockets (permessage-deflate, RFC 7692) where the upgrade's handler allows it.
package struct EdgeCompression: Sendable {
    let settings: DeflateSettings
    let memory: CompressionMemory

    /// - Parameters:
    ///   - windowBits: 9 to 15, of both sides' windows at most.
    ///   - minimumBytes: shorter messages are sent as they are.
    ///   - level: zlib's, 1 to 9.
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

/// The memory that the windows of all WebSockets may take, shared by all reactors.
package final class CompressionMemory: Sendable {
    /// {budget}
    private let budget: Mutex<DeflateBudget>

    /// - Parameters:
    ///   - sessionBytes: of one WebSocket.
    ///   - totalBytes: of all together.
    package init(sessionBytes: Int, totalBytes: Int) {
        budget = Mutex(
            DeflateBudget(
                limits: .init(sessionBytes: sessionBytes, totalBytes: totalBytes),
                costs: DeflateCosts(MessageInflateEngine.self, MessageDeflateEngine.self)))
    }

    /// New limits are for agreements to come.
    package func setLimits(sessionBytes: Int, totalBytes: Int) {
        budget.withLock { $0.limits = .init(sessionBytes: sessionBytes, totalBytes: totalBytes) }
    }

    package var reservedBytes: Int { budget.withLock { $0.reservedBytes } }

    /// Nil where no offer can be accepted or no memory is left: the WebSocket then isn't compressed.
    func agree(to offers: [WebSocketExtension], settings: DeflateSettings) -> CompressionLease? {
        guard let agreement = budget.withLock({ $0.agree(to: offers, settings: settings) }) else { return nil }
        return CompressionLease(agreement, of: self)
    }

    fileprivate func release(_ agreement: DeflateAgreement, isDeflaterSuspended: Bool) {
        budget.withLock { $0.release(agreement, isDeflaterSuspended: isDeflaterSuspended) }
    }

    fileprivate func suspendDeflater(of agreement: DeflateAgreement) -> Bool {
        budget.withLock { $0.suspendDeflater(of: agreement) }
    }

    fileprivate func resumeDeflater(of agreement: DeflateAgreement) -> Bool {
        budget.withLock { $0.resumeDeflater(of: agreement) }
    }
}

/// An agreement on compression and its share of the memory, which goes back with the last reference.
final class CompressionLease {
    let agreement: DeflateAgreement
    private let memory: CompressionMemory
    private(set) var isDeflaterSuspended = false

    fileprivate init(_ agreement: DeflateAgreement, of memory: CompressionMemory) {
        self.agreement = agreement
        self.memory = memory
    }

    /// Gives the deflater's memory back, if all WebSockets together have most of what there is.
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

/// The deflaters of one reactor that keep no context. Each serves any number of WebSockets, one message after the other. Reactor thread only.
final class SharedDeflaters {
    /// zlib's.
    private(set) var level: Int
    private var engines: [Int: MessageDeflateEngine] = [:]

    init(level: Int) { self.level = level }

    /// A reload has changed it. WebSockets keep the engine that they have.
    func setLevel(_ new: Int) {
        guard new != level else { return }
        level = new
        engines = [:]
    }

    /// - Returns: nil where there is no memory for one.
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

/// One connection of the driver's, or its place while it has none. Used only on the driver's thread.
final class Lane {
    enum Stage {
        /// Without a connection until this time.
        case idle(until: UInt64)
        /// Another thread connects.
        case dialing
        /// Connected, and not tested yet.
        case greeting
        case ready
    }

    /// What the server will answer next, in order. A call has all three, or the last two if its statement is prepared.
    enum Step {
        case prepare(Call)
        case execute(Call)
        case synchronize(Call)

        var call: Call {
            switch self {
            case .prepare(let call), .execute(let call), .synchronize(let call): call
            }
        }
    }

    enum Reading {
        case going
        /// Out of use: the reason.
        case lost(String)
    }

    let index: Int
    let isDurable: Bool
    var stage = Stage.idle(until: 0)
    var backoff = Backoff()
    /// It gets no further calls, and is replaced when its calls have ended.
    var isDraining = false
    var wantsToWrite = false
    private(set) var connection: LibpqConnection?
    private(set) var lastHeard: UInt64 = 0
    /// Calls on their way.
    private(set) var load = 0
    private var steps = FIFO<Step>()
    private var prepared: Set<String> = []
    private var hasAskedForRows = false

    init(index: Int, isDurable: Bool) {
        self.index = index
        self.isDurable = isDurable
    }

    var isUsable: Bool { if case .ready = stage { !isDraining } else { false } }
    var calls: [Call] { steps.all.compactMap { if case .synchronize(let call) = $0 { call } else { nil } } }
    /// The call that the server works at.
    var oldest: Call? { steps.first?.call }

    func adopt(_ connection: LibpqConnection, at time: UInt64) -> Bool {
        guard connection.beginPipeline() else { return false }
        self.connection = connection
        stage = .greeting
        lastHeard = time
        return true
    }

    /// Closes the connection.
    ///
    /// - Returns: the calls that were on their way.
    func abandon(until time: UInt64) -> [Call] {
        let calls = calls
        _ = steps.takeAll()
        connection = nil
        prepared = []
        load = 0
        (isDraining, wantsToWrite, hasAskedForRows) = (false, false, false)
        stage = .idle(until: time)
        return calls
    }

    /// - Returns: false if the connection is lost. The call then counts as on its way.
    func send(_ call: Call) -> Bool {
        guard let connection else { return false }
        load += 1
        let isNew = prepared.insert(call.statement.name).inserted
        if isNew { steps.append(.prepare(call)) }
        steps.append(.execute(call))
        steps.append(.synchronize(call))
        return (!isNew || connection.prepare(call.statement)) && connection.execute(call.statement, call.values)
            && connection.synchronize() && flush()
    }

    func flush() -> Bool {
        switch connection?.flush() {
        case .done: wantsToWrite = false
        case .more: wantsToWrite = true
        default: return false
        }
        return true
    }

    /// Reads answers.
    ///
    /// - Parameter ended: is called with each call whose transaction has ended.
    func read(at time: UInt64, maximumBytes: Int, ended: (Call) -> Void) -> Reading {
        guard let connection else { return .lost("there is no connection") }
        guard connection.receive() else { return .lost(connection.message) }
        lastHeard = time
        var ends = 0
        while let step = steps.first {
            askForRows(step, connection)
            guard connection.hasResult else { break }
            if let result = connection.nextResult() {
                ends = 0
                guard take(result, step, maximumBytes: maximumBytes, ended: ended) else {
                    return .lost("the answers are out of step")
                }
                if connection.isLost { return .lost(connection.message) }
            } else if case .synchronize = step {
                // After an error at the end of a transaction.
                ends += 1
                if ends > 2 { return .lost("the answers are out of step") }
            } else {
                advance()
            }
        }
        return connection.isLost ? .lost(connection.message) : .going
    }

    /// Rows come one by one where there may be many, so that an answer that is too large isn't collected in memory.
    private func askForRows(_ step: Step, _ connection: LibpqConnection) {
        guard !hasAskedForRows, case .execute(let call) = step, call.statement.maximumRows > 1 else { return }
        connection.askForSingleRows()
        hasAskedForRows = true
    }

    private func advance() {
        _ = steps.removeFirst()
        hasAskedForRows = false
    }

    /// - Returns: false if it doesn't belong to the step.
    private func take(_ result: LibpqResult, _ step: Step, maximumBytes: Int, ended: (Call) -> Void) -> Bool {
        let call = step.call
        switch result.kind {
        case .done: break
        case .rows: call.take(result, maximumBytes: maximumBytes)
        case .skipped: call.fail(.timedOut)
        case .failed: fail(step, result.error)
        case .synchronized:
            guard case .synchronize = step else { return false }
            advance()
            load -= 1
            ended(call)
        }
        return true
    }

    private func fail(_ step: Step, _ error: DatabaseError?) {
        if case .prepare(let call) = step { prepared.remove(call.statement.name) }
        guard case .refused(let state, let text)? = error else {
            return step.call.fail(.unknown("the connection failed"))
        }
        switch state.kind {
        // A commit may have been done before the server went down.
        case .shuttingDown: step.call.fail(.unknown(text))
        // Another server, or another version of a statement, is needed.
        case .readOnly, .schema:
            isDraining = true
            step.call.fail(.refused(state, text))
        default: step.call.fail(.refused(state, text))
        }
    }
}

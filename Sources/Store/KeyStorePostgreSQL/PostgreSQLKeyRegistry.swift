package import KeyStore
package import PostgreSQL

/// The key store of a fleet: the schema `portcullis` of a PostgreSQL database. Several gateways and tools share it.
///
/// Every call is one statement, and every write one function of the schema (`Migration1`), so no transaction waits for
/// the network. Registrations, revocations, signing keys and development tokens are on the disk before they are
/// confirmed, and on a synchronous standby if the server has one. Counters, marks and tickets aren't: what may be lost
/// of them is lost together with the incarnation.
package final class PostgreSQLKeyRegistry: Sendable {
    /// Each change that other gateways have to notice is announced there (`DriverOptions.channel`).
    package static let channel = "portcullis"

    let driver: PostgreSQLDriver
    let sealing: any SecretSealing
    let witness: RefreshWitnessKeeper
    private let observer: StoreObserver?

    /// How often a statement is tried again that another one was in the way of.
    private static let repetitions = 3
    /// For calls that no client waits for, in milliseconds.
    static let patience = 8_000

    /// - Parameters:
    ///   - sealing: for the secrets in the store.
    ///   - witness: of the gateway; a command has none, and doesn't beat.
    ///   - observer: is told of each call; mostly on the driver's thread.
    package init(
        _ driver: PostgreSQLDriver, sealing: any SecretSealing, witness: RefreshWitnessKeeper = RefreshWitnessKeeper(),
        observer: StoreObserver? = nil
    ) {
        self.driver = driver
        self.sealing = sealing
        self.witness = witness
        self.observer = observer
    }

    func watch(_ operation: StoreObserver.Operation) -> StoreWatch? { observer?.watching(operation) }

    package var figures: DriverFigures { driver.figures }

    /// Ends the connections. Later calls fail.
    package func close() { driver.close() }

    /// Throws unless this program can work with the schema that is there.
    package func checkSchema() async throws(KeyRegistryError) {
        do throws(PostgreSQLSchemaError) {
            try await PostgreSQLSchema.current.check(driver)
        } catch .database(let error) {
            throw KeyRegistryError(error)
        } catch {
            throw .unavailable("\(error)")
        }
    }

    /// Commits a write that changes nothing; durable when it returns.
    package func tryWriting() async throws(KeyRegistryError) {
        try await answer(.tryWriting) { _ in }
    }

    func answer<Value: Sendable>(
        _ statement: SQLStatement, _ values: [SQLValue] = [], within milliseconds: Int? = patience,
        _ read: @escaping @Sendable (SQLRows) throws(DatabaseError) -> Value
    ) async throws(KeyRegistryError) -> Value {
        let result: Result<Value, KeyRegistryError> = await withCheckedContinuation { continuation in
            let operation: StoreObserver.Operation = statement.isDurable ? .administer : .read
            answer(statement, values, within: milliseconds, as: operation, read) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    func answer<Value: Sendable>(
        _ statement: SQLStatement, _ values: [SQLValue], within milliseconds: Int? = nil,
        as operation: StoreObserver.Operation = .gate,
        _ read: @escaping @Sendable (SQLRows) throws(DatabaseError) -> Value,
        then: @escaping @Sendable (Result<Value, KeyRegistryError>) -> Void
    ) {
        run(statement, values, within: milliseconds, read, then: watch(operation)?.timing(then) ?? then)
    }

    private func run<Value: Sendable>(
        _ statement: SQLStatement, _ values: [SQLValue], within milliseconds: Int?,
        repeating repetitions: Int = repetitions,
        _ read: @escaping @Sendable (SQLRows) throws(DatabaseError) -> Value,
        then: @escaping @Sendable (Result<Value, KeyRegistryError>) -> Void
    ) {
        driver.run(statement, values, within: milliseconds) { [self] result in
            if case .failure(.refused(let state, _)) = result, state.kind == .conflict, repetitions > 0 {
                return run(
                    statement, values, within: milliseconds, repeating: repetitions - 1, read, then: then)
            }
            then(Result { () throws(DatabaseError) in try read(try result.get()) }.mapError { KeyRegistryError($0) })
        }
    }
}

extension KeyRegistryError {
    /// An error after which something may have been done is `.busy`, like those after which nothing was.
    package init(_ error: DatabaseError) {
        switch error {
        case .queueFull: self = .queueFull
        case .timedOut, .unknown, .unreachable: self = .busy
        case .refused(let state, _):
            switch state.kind {
            case .conflict, .readOnly, .shuttingDown, .canceled: self = .busy
            case .locked: self = .locked
            case .diskFull: self = .unavailable("the database's disk is full")
            case .schema, .uniqueViolation, .other: self = .unavailable("\(error)")
            }
        case .tooLarge, .malformed: self = .unavailable("\(error)")
        }
    }
}

// MARK: Keys

extension PostgreSQLKeyRegistry: KeyRegistry {
    package func standing(of id: KeyID) async throws(KeyRegistryError) -> KeyStanding? {
        try await answer(.standing, [.bytes(id.bytes)], within: nil) { rows throws(DatabaseError) in
            try rows.first.map { row throws(DatabaseError) in try KeyStanding(id, row) }
        }
    }

    package func advanceCounter(
        of id: KeyID, to counter: UInt32, at time: Int64
    ) async throws(KeyRegistryError) -> CounterAdvance {
        try await use(CounterUse(counter), of: id, at: time)
    }

    package func use(
        _ counter: CounterUse, of id: KeyID, at time: Int64
    ) async throws(KeyRegistryError) -> CounterAdvance {
        try await answer(.useCounter, counter.values(of: id, at: time), within: nil) { rows throws(DatabaseError) in
            let row = try rows.only()
            return try CounterAdvance(row, outcome: 0, stored: 1)
        }
    }

    package func putInForce(_ window: CounterWindow, after former: CounterWindow?) throws(KeyRegistryError) {
        let values: [SQLValue] = [.integer(Int64(window.size)), .optional(former.map { Int64($0.size) })]
        try blocking(.putInForce, values) { _ in }
    }

    package func narrow(to window: CounterWindow) throws(KeyRegistryError) {
        try blocking(.narrow, [.integer(Int64(window.size))]) { _ in }
    }

    package func enrol(_ key: DeviceKey) async throws(KeyRegistryError) -> Enrolment {
        try await answer(.enrol, key.values) { rows throws(DatabaseError) in
            switch try rows.only().integer(0) {
            case 0: return .enrolled
            case 1: return .alreadyEnrolled
            case 2: return .revoked
            default: throw .malformed
            }
        }
    }

    package func key(_ id: KeyID) async throws(KeyRegistryError) -> DeviceKey? {
        try await answer(.key, [.bytes(id.bytes)]) { rows throws(DatabaseError) in
            try rows.first.map { row throws(DatabaseError) in try DeviceKey(row) }
        }
    }

    /// At most ``SQLStatement/largestPage`` keys.
    package func keys(after: KeyID?, limit: Int) async throws(KeyRegistryError) -> [DeviceKey] {
        guard limit > 0 else { return [] }
        // The empty value sorts before every identifier.
        let values: [SQLValue] = [
            .bytes(after?.bytes ?? []), .integer(Int64(min(limit, SQLStatement.largestPage))),
        ]
        return try await answer(.page, values) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in try DeviceKey(row) }
        }
    }

    package func revoke(_ id: KeyID, reason: String, at time: Int64) async throws(KeyRegistryError) -> Bool {
        try await answer(.revoke, [.bytes(id.bytes), .text(reason), .integer(time)]) { rows throws(DatabaseError) in
            try rows.only().boolean(0)
        }
    }

    package func restore(_ id: KeyID) async throws(KeyRegistryError) -> Bool {
        try await answer(.restore, [.bytes(id.bytes)]) { rows throws(DatabaseError) in try rows.only().boolean(0) }
    }

    package func forget(_ id: KeyID) async throws(KeyRegistryError) -> Forgetting {
        try await answer(.forget, [.bytes(id.bytes)]) { rows throws(DatabaseError) in
            switch try rows.only().integer(0) {
            case 0: return .forgotten
            case 1: return .unknown
            case 2: return .refusedRevoked
            default: throw .malformed
            }
        }
    }
}

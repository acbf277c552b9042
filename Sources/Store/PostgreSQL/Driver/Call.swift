/// A statement that was handed over. Its answer is given once, on the driver's thread or, if it is refused at once, on
/// the caller's.
///
/// It has one thread at a time: its caller's until it is in the mailbox, and then the driver's.
final class Call: @unchecked Sendable {
    let statement: SQLStatement
    let values: [SQLValue]
    /// Monotonic nanoseconds.
    let deadline: UInt64
    /// One of the driver's own, which aren't counted.
    let isOwn: Bool
    private var answer: ((Result<SQLRows, DatabaseError>) -> Void)?
    /// What has arrived of its answer.
    var rows: SQLRows?
    /// The first error.
    var error: DatabaseError?

    init(
        _ statement: SQLStatement, _ values: [SQLValue], deadline: UInt64,
        _ answer: @escaping @Sendable (Result<SQLRows, DatabaseError>) -> Void
    ) {
        self.statement = statement
        self.values = values
        self.deadline = deadline
        self.answer = answer
        isOwn = false
    }

    /// For a call that is made, sent and answered on the driver's thread.
    init(
        own statement: SQLStatement, _ values: [SQLValue], deadline: UInt64,
        _ answer: @escaping (Result<SQLRows, DatabaseError>) -> Void
    ) {
        self.statement = statement
        self.values = values
        self.deadline = deadline
        self.answer = answer
        isOwn = true
    }

    var isAnswered: Bool { answer == nil }

    /// - Returns: false if it was answered before.
    @discardableResult
    func finish(_ result: Result<SQLRows, DatabaseError>) -> Bool {
        guard let answer else { return false }
        self.answer = nil
        rows = nil
        answer(result)
        return true
    }

    /// Adds a result, within the limits; rows above them are dropped.
    func take(_ result: LibpqResult, maximumBytes: Int) {
        guard error == nil, !isAnswered else { return }
        var rows = self.rows ?? SQLRows(columns: result.columns)
        // The only reference is left: with two, each row would copy all those before it.
        self.rows = nil
        guard rows.count + result.count <= statement.maximumRows else { return fail(.tooLarge) }
        result.append(to: &rows)
        guard rows.bytes <= maximumBytes else { return fail(.tooLarge) }
        self.rows = rows
    }

    func fail(_ error: DatabaseError) {
        if self.error == nil { self.error = error }
        rows = nil
    }

    var outcome: Result<SQLRows, DatabaseError> {
        error.map { .failure($0) } ?? .success(rows ?? SQLRows(columns: 0))
    }
}

/// First in, first out.
struct FIFO<Element> {
    private var elements: [Element] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Element? { isEmpty ? nil : elements[head] }
    var all: ArraySlice<Element> { elements[head...] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeFirst() -> Element? {
        guard let element = first else { return nil }
        head += 1
        // Each element is moved once in a while at most.
        if head > 64, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    mutating func removeAll(where isRemoved: (Element) -> Bool) {
        elements = elements[head...].filter { !isRemoved($0) }
        head = 0
    }

    mutating func takeAll() -> ArraySlice<Element> {
        defer {
            elements = []
            head = 0
        }
        return elements[head...]
    }
}

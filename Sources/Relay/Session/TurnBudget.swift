/// How much of its target's output a session may translate in one turn of the loop, so that no target keeps a reactor busy.
struct TurnBudget {
    /// Telnet events, however little each brings.
    static let maximumEvents = 256
    /// Bytes taken and put out, together.
    static let maximumBytes = 131_072

    private var turn: UInt64?
    private var events = 0
    private var bytes = 0
    /// The budget is used up, and the session waits for a later turn behind the others.
    var isWaiting = false

    /// Each turn has a new budget.
    mutating func begin(turn: UInt64) {
        guard turn != self.turn else { return }
        self.turn = turn
        events = 0
        bytes = 0
    }

    var isLeft: Bool { events < Self.maximumEvents && bytes < Self.maximumBytes }

    mutating func spend(_ bytes: Int) {
        events += 1
        self.bytes += bytes
    }
}

/// How much of what its target has said a session may say to its client in one turn of the loop, so that no target keeps a reactor busy.
struct TurnShare {
    /// Events of telnet, however little each brings.
    static let maximumEvents = 256
    /// Bytes taken and put out, together.
    static let maximumBytes = 131_072

    private var turn: UInt64?
    private var events = 0
    private var bytes = 0
    /// It has had its share, and its turn comes again behind the others'.
    var isWaiting = false

    /// A new turn brings a new share.
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

import Glibc
import Synchronization

/// The signals that have come and weren't handled yet. Signal handlers may only set them.
private let isResized = Atomic(false)
private let isEnded = Atomic(false)

/// The controlling terminal as a screen: the alternate buffer, without echo, key by key. One at a time.
struct Terminal {
    enum Event {
        case key(UInt8)
        case resized
        /// SIGINT, SIGTERM, SIGHUP, or the end of the input.
        case quit
        case time
    }

    private static let enter = "\u{1B}[?1049h\u{1B}[?25l"
    private static let leave = "\u{1B}[?25h\u{1B}[?1049l"
    private let before: termios
    private let signals: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    /// - Returns: nil if standard input is no terminal.
    init?() {
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        before = settings
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        guard tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0 else { return nil }
        // So that they exist before a signal handler uses them.
        isEnded.store(false, ordering: .relaxed)
        isResized.store(false, ordering: .relaxed)
        for signal in signals { Self.handle(signal) { _ in isEnded.store(true, ordering: .relaxed) } }
        Self.handle(SIGWINCH) { _ in isResized.store(true, ordering: .relaxed) }
        Console.show(Self.enter)
    }

    /// Without SA_RESTART, so that `poll` returns.
    private static func handle(_ signal: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = handler
        sigaction(signal, &action, nil)
    }

    func restore() {
        Console.show(Self.leave)
        var settings = before
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// - Parameter lines: printable text, one for each row. Each row is erased before it is written: behind a full row
    ///   the cursor stands on its last character.
    func show(_ lines: [String]) {
        let rows = lines.enumerated().map { "\u{1B}[\($0.offset + 1);1H\u{1B}[K\($0.element)" }
        Console.show(rows.joined())
    }

    func wait(milliseconds: Int32) -> Event {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        let count = poll(&input, 1, milliseconds)
        if isEnded.exchange(false, ordering: .relaxed) { return .quit }
        if isResized.exchange(false, ordering: .relaxed) { return .resized }
        guard count > 0 else { return .time }
        var key: UInt8 = 0
        return read(STDIN_FILENO, &key, 1) == 1 ? .key(key) : .quit
    }
}

import Telnet

/// `terminal.mudstandards.org`: UTF-8 with ANSI sequences in both directions, as on a terminal. It has no messages for out-of-band
/// data.
struct TerminalDialect: Dialect {
    var answersErrors: Bool { false }

    /// Text messages are input, like binary ones.
    func command(of message: ArraySlice<UInt8>, isText: Bool) -> ClientCommand {
        .input(message.repairedUTF8)
    }

    func encode(_ event: TargetEvent, keeping history: inout SessionHistory, into frames: inout FrameBuffer) {
        guard case .text(let text) = event else { return }
        frames.append(isText: false) { $0.append(contentsOf: text) }
    }

    /// A terminal displays all it receives, so errors can't be sent.
    func encode(_ error: DialectError, into frames: inout FrameBuffer) {}
}

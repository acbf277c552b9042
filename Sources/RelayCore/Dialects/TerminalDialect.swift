import Telnet

/// `terminal.mudstandards.org`: UTF-8 with ANSI sequences both ways, as a terminal has it. What is out of band has no place here.
struct TerminalDialect: Dialect {
    var answersErrors: Bool { false }

    /// Text messages are input too.
    func command(of message: ArraySlice<UInt8>, isText: Bool) -> ClientCommand {
        .input(message.repairedUTF8)
    }

    func encode(_ event: TargetEvent, keeping history: inout SessionHistory, into frames: inout FrameBuffer) {
        guard case .text(let text) = event else { return }
        frames.append(isText: false) { $0.append(contentsOf: text) }
    }

    /// A terminal shows what it is sent: there is no way to tell it anything else.
    func encode(_ error: DialectError, into frames: inout FrameBuffer) {}
}

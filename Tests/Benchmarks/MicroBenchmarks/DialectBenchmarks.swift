import Benchmark
import Compression
import RelayCore
import Telnet

/// Each dialect's way to the client (encode) and from it (decode), with telnet on the other side and the history of a
/// resumable session, as a session's driver goes it.
func dialectBenchmarks() {
    for kind in [DialectKind.typed, .gmcp, .json, .legacy, .terminal] {
        for (name, bytes) in [("a line of 64 bytes", line), ("a screen of 1 KiB", screen)] {
            measure("\(kind): encode \(name)", times: .kilo) { _ in
                DialectStage(kind)
            } _: { stage, _ in
                stage.hear(bytes[...])
            }
        }
        measure("\(kind): encode a GMCP message", times: .kilo) { _ in
            DialectStage(kind)
        } _: { stage, _ in
            stage.hear(vitals[...])
        }
        let (input, isText) = DialectStage.input(of: kind)
        measure("\(kind): decode an input", times: .kilo) { _ in
            DialectStage(kind)
        } _: { stage, _ in
            stage.say(input[...], isText: isText)
        }
        guard let message = DialectStage.message(of: kind) else { continue }
        measure("\(kind): decode a GMCP message", times: .kilo) { _ in
            DialectStage(kind)
        } _: { stage, _ in
            stage.say(message[...], isText: true)
        }
    }
}

private let line = Array("\u{1B}[1;32mA narrow lane\u{1B}[0m leads north, past the old mill.\r\n...".utf8.prefix(64))
private let screen = Array(repeatElement(line, count: 16).joined())
private let vitals = [255, 250, 201] + Array(#"Char.Vitals {"hp":120,"maxhp":140,"mp":33}"#.utf8) + [255, 240]

/// A client and a target that has agreed to GMCP.
private struct DialectStage {
    private var translation: Translation
    private var output = TranslationOutput()

    init(_ kind: DialectKind) {
        let made = Translation(
            kind: kind, client: ClientDescription(), compressor: DialectCompressor(), makeDecompressor: nil)
        guard let made else { fatalError("\(kind) is translated") }
        translation = made
        let connect = kind == .legacy ? #"{"connect":1}"# : #"{"type":"connect","target":""}"#
        if translation.awaitsConnect { say(Array(connect.utf8)[...], isText: true) }
        translation.connected(
            SessionIdentity(
                id: "3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1", token: String(repeating: "0123456789abcdef", count: 4)),
            telnet: TelnetClientSettings(), into: &output)
        hear([255, 251, 201])
    }

    mutating func hear(_ bytes: ArraySlice<UInt8>) {
        var input = bytes
        while translation.next(&input, now: 0, into: &output) {}
        blackHole(output.frames.frames.count)
        output.removeAll()
    }

    mutating func say(_ message: ArraySlice<UInt8>, isText: Bool) {
        translation.receive(message, isText: isText, isLast: true, into: &output)
        blackHole(output.toTarget.count)
        output.removeAll()
    }

    static func input(of kind: DialectKind) -> (message: [UInt8], isText: Bool) {
        let text = "say Good evening, all.\r\n"
        switch kind {
        case .typed: return (Array(#"{"type":"input","text":"say Good evening, all.\r\n"}"#.utf8), true)
        case .legacy: return (Array(text.utf8), true)
        default: return (Array(text.utf8), false)
        }
    }

    static func message(of kind: DialectKind) -> [UInt8]? {
        switch kind {
        case .typed: Array(#"{"type":"gmcp","package":"Core.Ping","data":{"n":1}}"#.utf8)
        case .gmcp: Array(#"Core.Ping {"n":1}"#.utf8)
        case .json: Array(#"{"proto":"gmcp","id":"Core.Ping","data":"{\"n\":1}"}"#.utf8)
        case .legacy: Array(#"{"gmcp":"Core.Ping {\"n\":1}"}"#.utf8)
        case .terminal, .raw: nil
        }
    }
}

/// One for all messages, as a reactor has one.
private final class DialectCompressor: FrameCompressor {
    private lazy var deflater = try? RawDeflater()

    func compress(_ bytes: [UInt8]) -> [UInt8]? { try? deflater?.deflate(bytes) }
}

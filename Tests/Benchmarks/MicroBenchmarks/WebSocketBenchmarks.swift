import Benchmark
import Compression
import WebSocketWire
import WireText

/// The cost of each frame of a session.
func webSocketBenchmarks() {
    for (name, count) in [("64 bytes", 64), ("1 KiB", 1_024), ("16 KiB", 16_384)] {
        let limits = MessageLimits(messageBytes: count)
        measure("frames: read a binary message of \(name)", times: .kilo) { _ in
            (reader: FrameReader(limits: limits), input: WebSocketStage.frame(.binary, count))
        } _: { state, _ in
            WebSocketStage.read(&state.reader, &state.input)
        }
        measure("masking: \(name) in place", times: .kilo) { _ in
            [UInt8](repeating: 0x61, count: count)
        } _: { bytes, _ in
            var span = bytes.mutableSpan
            applyMask(WebSocketStage.key, to: &span)
        }
        measure("UTF-8: \(name) of ASCII", times: .kilo) { _ in
            [UInt8](repeating: 0x61, count: count)
        } _: { bytes, _ in
            var validator = UTF8Validator()
            blackHole(validator.accept(bytes.span))
        }
    }
    measure("permessage-deflate: a line of 64 bytes with context", times: .kilo) { _ in
        try WebSocketStage.Sender()
    } _: { sender, _ in
        try sender.send()
    }
}

enum WebSocketStage {
    static let key = MaskKey(0x37, 0xFA, 0x21, 0x3D)

    /// A mask of zeros: so the frame is the same after each reading.
    static func frame(_ opcode: Opcode, _ count: Int) -> [UInt8] {
        FrameHeader(opcode, payloadBytes: count, mask: MaskKey(0, 0, 0, 0)).bytes
            + [UInt8](repeating: 0x61, count: count)
    }

    static func read(_ reader: inout FrameReader, _ input: inout [UInt8]) {
        var span = input.mutableSpan
        var position = 0
        while let event = reader.next(in: &span, from: &position) { blackHole(event) }
    }

    /// Holds the deflater, which isn't copyable.
    final class Sender {
        private var deflater: MessageDeflater<MessageDeflateEngine>
        private let line = Array("A narrow lane leads north, past the old mill. Exits: north, in.\r\n".utf8)
        private var output = [UInt8](repeating: 0, count: 256)

        init() throws {
            let engine = try MessageDeflateEngine(windowBits: 12, memoryLevel: 5, level: 6)
            deflater = MessageDeflater(engine: engine, keepsContext: true, minimumBytes: 0)
        }

        func send() throws {
            let line = line
            var span = output.mutableSpan
            blackHole(try deflater.deflate(line.span, into: &span))
        }
    }
}

import CZlib
import EdgeTestKit
import Foundation
import Testing

/// A client's permessage-deflate (RFC 7692), directly on zlib and without the gateway's code.
final class DeflateClient {
    let socket: TestWebSocket
    /// As in the 101; nil: nothing was negotiated.
    let answer: String?
    private let inflater: UnsafeMutablePointer<z_stream>
    private let deflater: UnsafeMutablePointer<z_stream>
    private let clientKeepsContext: Bool
    private let serverKeepsContext: Bool
    /// Payload bytes of data frames from the gateway, as received.
    private(set) var received = 0

    static func open(
        _ edge: Edge, offer: String = "permessage-deflate; client_max_window_bits",
        _ change: (Handshake) -> Handshake = { $0 }
    ) async throws -> DeflateClient {
        let handshake = change(Handshake().adding("Sec-WebSocket-Extensions", offer))
        return try DeflateClient(try await edge.gateway.open(handshake), offer: offer)
    }

    /// - Parameter offer: its window sizes also apply if the answer doesn't mention them.
    init(_ socket: TestWebSocket, offer: String) throws {
        self.socket = socket
        answer = socket.answer["sec-websocket-extensions"]
        let words = Set((answer ?? "").split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) })
        func bits(_ name: String) -> Int {
            words.lazy.compactMap { $0.hasPrefix(name + "=") ? Int($0.dropFirst(name.count + 1)) : nil }.first ?? 15
        }
        clientKeepsContext = !words.contains("client_no_context_takeover")
        serverKeepsContext = !words.contains("server_no_context_takeover")
        inflater = Self.stream()
        deflater = Self.stream()
        let size = CInt(MemoryLayout<z_stream>.size)
        #expect(inflateInit2_(inflater, -CInt(bits("server_max_window_bits")), ZLIB_VERSION, size) == Z_OK)
        #expect(
            deflateInit2_(
                deflater, 9, Z_DEFLATED, -CInt(bits("client_max_window_bits")), 9, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                size) == Z_OK)
    }

    deinit {
        inflateEnd(inflater)
        deflateEnd(deflater)
        inflater.deallocate()
        deflater.deallocate()
    }

    private static func stream() -> UnsafeMutablePointer<z_stream> {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        return stream
    }

    // MARK: To the gateway

    func deflate(_ message: [UInt8]) -> [UInt8] {
        if !clientKeepsContext { deflateReset(deflater) }
        let output = run(deflater, message, room: message.count * 2 + 100) { CZlib.deflate($0, Z_SYNC_FLUSH) }
        return Array(output.dropLast(4))
    }

    /// A compressed message in `fragments` frames; if `pings`, with a ping after each but the last.
    func frames(_ message: [UInt8], isText: Bool = true, fragments: Int = 1, pings: Bool = false) -> [UInt8] {
        let payload = deflate(message)
        let size = max((payload.count + fragments - 1) / fragments, 1)
        var bytes: [UInt8] = []
        var position = 0
        for index in 0..<fragments {
            let end = index == fragments - 1 ? payload.count : min(position + size, payload.count)
            let opcode =
                index > 0
                ? WebSocketFrame.Opcode.continuation
                : isText ? WebSocketFrame.Opcode.text : WebSocketFrame.Opcode.binary
            bytes += WebSocketFrame(
                opcode, Array(payload[position..<end]), isFinal: index == fragments - 1, reserved: index == 0 ? 4 : 0
            ).encoded()
            if pings, index < fragments - 1 { bytes += WebSocketFrame.ping([UInt8(index)]).encoded() }
            position = end
        }
        return bytes
    }

    func send(_ text: String, fragments: Int = 1, pings: Bool = false) async throws {
        try await socket.connection.send(frames(Array(text.utf8), fragments: fragments, pings: pings))
    }

    // MARK: From the gateway

    struct Message {
        let isText: Bool
        let isCompressed: Bool
        let bytes: [UInt8]
        /// Payload bytes as received.
        let wireBytes: Int

        var text: String { String(decoding: bytes, as: UTF8.self) }
        var fields: [String: Any] { ReceivedMessage(isText: isText, bytes: bytes).fields }
    }

    /// The next whole message. Control frames are skipped, except for a Close, which is an error.
    func next() async throws -> Message {
        var opcode: UInt8?
        var isCompressed = false
        var payload: [UInt8] = []
        while true {
            let frame = try await socket.nextFrame()
            switch frame.opcode {
            case WebSocketFrame.Opcode.ping, WebSocketFrame.Opcode.pong: #expect(frame.reserved == 0)
            case WebSocketFrame.Opcode.close: throw EdgeTestError("instead of a message: \(frame)")
            default:
                #expect((frame.opcode == WebSocketFrame.Opcode.continuation) == (opcode != nil))
                if opcode == nil {
                    opcode = frame.opcode
                    isCompressed = frame.reserved == 4
                    #expect(answer != nil || frame.reserved == 0)
                } else {
                    #expect(frame.reserved == 0)
                }
                payload += frame.payload
                guard frame.isFinal else { continue }
                received += payload.count
                return Message(
                    isText: opcode == WebSocketFrame.Opcode.text, isCompressed: isCompressed,
                    bytes: isCompressed ? try inflate(payload) : payload, wireBytes: payload.count)
            }
        }
    }

    /// Reads as many messages as needed, and returns their payloads.
    func receive(_ count: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += try await next().bytes }
        return bytes
    }

    func receiveText(_ count: Int) async throws -> String { String(decoding: try await receive(count), as: UTF8.self) }

    private func inflate(_ payload: [UInt8]) throws -> [UInt8] {
        if !serverKeepsContext { inflateReset(inflater) }
        var status = Z_OK
        let output = run(inflater, payload + [0, 0, 0xFF, 0xFF], room: 4_000_000) {
            status = CZlib.inflate($0, Z_SYNC_FLUSH)
            return status
        }
        guard status == Z_OK, inflater.pointee.avail_in == 0 else { throw EdgeTestError("not deflated: \(status)") }
        return output
    }

    private func run(
        _ stream: UnsafeMutablePointer<z_stream>, _ input: [UInt8], room: Int,
        _ step: (UnsafeMutablePointer<z_stream>) -> CInt
    ) -> [UInt8] {
        var input = input
        return [UInt8](unsafeUninitializedCapacity: room) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = uInt(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = uInt(output.count)
                _ = step(stream)
                count = output.count - Int(stream.pointee.avail_out)
            }
        }
    }
}

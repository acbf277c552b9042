import Crypto
import Foundation
import Reactors

/// The tool's own WebSocket over a TLS or TCP connection, without libwebsockets: all messages of a turn are sent in one
/// piece, and a message costs the tool little. Reactor thread only; its connection holds it as its handler.
final class FrameTransport: TCPHandler, ClientTransport {
    private static let maximumHeadBytes = 16_384

    private let leg: ClientLeg
    private let request: UpgradeText
    private var connection: TargetConnection?
    /// Nil once the WebSocket is open.
    private var failed: ((ErrorKind) -> Void)?
    private var head: [UInt8] = []
    private var frames = ServerFrames()
    private var masks: SeededGenerator
    private var hasClosed = false

    private init(_ leg: ClientLeg, _ request: UpgradeText, seed: UInt64, failed: @escaping (ErrorKind) -> Void) {
        self.leg = leg
        self.request = request
        self.failed = failed
        masks = SeededGenerator(seed: seed)
    }

    /// - Parameter failed: called once if the leg can't be opened.
    static func dial(
        for leg: ClientLeg, on worker: LoadWorker, headers: LoadDevices.Headers, from source: String?, seed: UInt64,
        failed: @escaping (ErrorKind) -> Void
    ) {
        let edge = worker.settings.edge
        var generator = SeededGenerator(seed: ~seed)
        let request = UpgradeText(
            authority: "\(edge.host):\(edge.port)", path: edge.path, subprotocols: edge.subprotocols, headers: headers,
            nonce: (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
        let transport = FrameTransport(leg, request, seed: seed, failed: failed)
        var options = DialOptions(timeoutMilliseconds: 10_000)
        options.source = source
        transport.connection = TargetConnection.dial(
            host: edge.host, port: edge.port, options: options, tls: worker.streamTLS, on: worker.reactor,
            handler: transport)
    }

    func tcpConnected() {
        request.bytes.withUnsafeBytes { connection?.send($0) }
    }

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        guard failed != nil else { return receiveFrames(bytes) }
        head.append(contentsOf: bytes)
        guard let end = UpgradeText.endOfHead(in: head) else {
            if head.count > Self.maximumHeadBytes { refuse(.notConnected) }
            return
        }
        if let refusal = request.refusal(in: String(decoding: head[..<end], as: UTF8.self)) { return refuse(refusal) }
        failed = nil
        leg.opened(self)
        let rest = Array(head[end...])
        head = []
        rest.withUnsafeBytes { receiveFrames($0) }
    }

    private func receiveFrames(_ bytes: UnsafeRawBufferPointer) {
        let isValid = frames.receive(bytes) { event in
            switch event {
            case .data(let piece, let isLast): leg.client?.received(piece, isLast: isLast)
            case .ping(let payload): payload.withUnsafeBytes { put($0, opcode: 10) }
            case .close(let code):
                leg.webSocketPeerClosed(code: code)
                close(code: code ?? 1000, reason: "")
                connection?.finish()
            }
        }
        if !isValid { connection?.drop() }
    }

    private func refuse(_ kind: ErrorKind) {
        guard let failed else { return }
        self.failed = nil
        failed(kind)
        connection?.drop()
    }

    func tcpWrote() { if failed == nil { leg.client?.wrote() } }
    func tcpPeerFinished() { connection?.finish() }

    func tcpClosed(error: TCPError?) {
        connection = nil
        if failed != nil { refuse(.notConnected) } else { leg.closed() }
    }

    private func put(_ payload: UnsafeRawBufferPointer, opcode: UInt8) {
        let mask = UInt32(truncatingIfNeeded: masks.next())
        withUnsafeTemporaryAllocation(
            byteCount: payload.count + ClientFrame.maximumHeadBytes, alignment: 8
        ) { buffer in
            let count = ClientFrame.write(payload, opcode: opcode, mask: mask, to: buffer)
            connection?.send(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    // MARK: What a client does with it

    var queuedBytes: Int { connection?.queuedBytes ?? 0 }
    func sendMessage(_ bytes: UnsafeRawBufferPointer, isText: Bool) { put(bytes, opcode: isText ? 1 : 2) }
    func setReading(paused: Bool) { connection?.setReading(paused: paused) }

    func close(code: UInt16, reason: String) {
        guard !hasClosed else { return }
        hasClosed = true
        ([UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8)).withUnsafeBytes { put($0, opcode: 8) }
    }

    func drop() { connection?.drop() }
    func reset() { connection?.drop() }
}

/// The request for a WebSocket and the check of its answer (RFC 6455 §4.1).
struct UpgradeText: Sendable {
    let bytes: [UInt8]
    private let accept: String

    /// - Parameter nonce: 16 bytes.
    init(
        authority: String, path: String, subprotocols: [String], headers: LoadDevices.Headers, nonce: [UInt8]
    ) {
        let key = Data(nonce).base64EncodedString()
        let fields =
            [
                ("Host", authority), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
                ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", key),
            ]
            + (subprotocols.isEmpty ? [] : [("Sec-WebSocket-Protocol", subprotocols.joined(separator: ", "))])
            + headers.map { ($0.name, $0.value) }
        bytes = Array(("GET \(path) HTTP/1.1\r\n" + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n").utf8)
        accept = Data(Insecure.SHA1.hash(data: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
            .base64EncodedString()
    }

    /// - Returns: nil for the 101 that matches this request.
    func refusal(in head: String) -> ErrorKind? {
        let lines = head.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, let status = Int(words[1]) else { return .notConnected }
        func field(_ name: String) -> String? {
            lines.first { $0.lowercased().hasPrefix(name + ":") }
                .map { String($0.dropFirst(name.count + 1)).trimmingCharacters(in: .whitespaces) }
        }
        guard status == 101 else { return .refused(status: status, code: field("x-refusal-code")) }
        return field("sec-websocket-accept") == accept ? nil : .notConnected
    }

    /// - Returns: the position after the empty line.
    static func endOfHead(in bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        return (4...bytes.count).first { bytes[$0 - 4..<$0].elementsEqual([13, 10, 13, 10]) }
    }
}

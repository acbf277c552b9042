import FleetWire
import HTTPWire
import ProxyProtocol
import WebSocketWire
import WireText

@testable import Telnet

/// HTTP, WebSocket and PROXY input, before anybody asks what it means.
let wirePlaces = places {
    http
    queries
    handshakes
    text("an address") { use(IPAddress(text: $0)) }
    text("a list of address ranges") { use(AddressRange.list($0)) }
    text("base64") { use(Base64.decode($0, maximumBytes: 65_536)) }
    text("base64url") { use(Base64URL.decode($0)) }
    text("hexadecimal digits") { use(Hexadecimal.decode($0, count: 32_768)) }
    bytes("UTF-8") { use($0[...].isValidUTF8) }
    bytes("a list in a field") { bytes in
        var members = ListMembers(bytes[...])
        while members.next() != nil {}
    }
    made("a PROXY header of version 1") { bytes in proxied(Array("PROXY ".utf8) + bytes) }
    made("a PROXY header of version 2", texts: few) { bytes in
        let addresses: [UInt8] = [127, 0, 0, 1, 127, 0, 0, 1, 0, 1, 0, 2]
        let body = addresses + [2] + length(bytes.count) + bytes
        let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10, 0x21, 0x11]
        return proxied(signature + length(min(body.count, 65_535)) + body)
    }
    bytes("the reason of a Close frame", bytes: 123, texts: few) { bytes in
        read(frame(0x88, [3, 232] + bytes))
    }
    bytes("a message in one frame") { bytes in read(frame(0x81, bytes)) }
    made("a message in frames of one byte", texts: few, fragments)
    made("pings without end", texts: few) { bytes in
        let frames = (0..<bytes.count / 8).flatMap { _ in frame(0x89, [97, 98]) }
        return { read(frames) }
    }
    made("the messages of another gateway", texts: few) { bytes in
        let frames = unmasked(0x81, bytes)
        return {
            var messages = RelayedMessages()
            use(messages.take(frames))
        }
    }
    bytes("the answer of another gateway", texts: HostileText.all) { bytes in
        var answer = RelayedAnswer()
        use(try? answer.take(Array("HTTP/1.1 101 Switching Protocols\r\nX: ".utf8) + bytes))
    }
    made("the preface of another gateway", bytes: 12_288, texts: few) { bytes in
        let address: [UInt8] = [1, 0, 6, 127, 0, 0, 1, 0, 1]
        let fields = address + [128] + length(bytes.count) + bytes
        let preface = Array("PCUF".utf8) + [1, 0] + length(fields.count) + fields
        return {
            var parser = RelayPrefaceParser()
            use(parser.parse(preface[...]))
        }
    }
}

/// For bytes that nobody takes for text.
private let few = [HostileText.marks] + HostileText.broken.prefix(1) + HostileText.ascii.prefix(1)

/// Above the limits of a gateway, which bound this before anything else does.
private var roomy: RequestLimits {
    var limits = RequestLimits()
    limits.maximumRequestLineBytes = 1 << 20
    limits.maximumFieldBytes = 1 << 20
    limits.maximumHeaderBytes = 1 << 20
    limits.maximumChunkLineBytes = 1 << 20
    limits.maximumChunkExtensionBytes = 1 << 20
    limits.maximumTrailerBytes = 1 << 20
    limits.maximumBodyBytes = 1 << 20
    limits.maximumFields = 100
    return limits
}

private func parsing(_ front: String, _ bytes: [UInt8], _ back: String) -> () -> Void {
    let request = Array(front.utf8) + bytes + Array(back.utf8)
    return {
        var parser = RequestParser(limits: roomy)
        var position = 0
        while true {
            let progress = parser.parse(request.span.extracting(position...))
            position += progress.consumed
            switch progress.event {
            case .head(let head):
                use(head.keepsAlive)
                for name in ["host", "x", "connection", "upgrade"] {
                    use(head.fields.all(name))
                    use(Array(head.fields.members(name)))
                    use(head.fields.only(name))
                }
            case .body: continue
            case .needsMore, .malformed, .end: return
            }
        }
    }
}

private let http = places {
    made("a method") { parsing("", $0, " / HTTP/1.1\r\nHost: a\r\n\r\n") }
    made("a path") { parsing("GET /", $0, " HTTP/1.1\r\nHost: a\r\n\r\n") }
    made("a query") { parsing("GET /?", $0, " HTTP/1.1\r\nHost: a\r\n\r\n") }
    made("an absolute target") { parsing("GET http://", $0, "/ HTTP/1.1\r\nHost: a\r\n\r\n") }
    made("a version") { parsing("GET / HTTP/1.", $0, "\r\nHost: a\r\n\r\n") }
    made("a field's name") { parsing("GET / HTTP/1.1\r\nHost: a\r\n", $0, ": b\r\n\r\n") }
    made("trailer fields") {
        parsing("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ", $0, "\r\n\r\n")
    }
    made("chunk extensions") {
        parsing("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;", $0, "\r\na\r\n0\r\n\r\n")
    }
    made("chunks of one byte", texts: few) { bytes in
        let chunks = bytes.prefix(bytes.count / 6).flatMap { [UInt8(ascii: "1"), 13, 10, $0, 13, 10] as [UInt8] }
        return parsing(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", chunks, "0\r\n\r\n")
    }
    made("many fields", spelled: [.field]) { bytes in
        let line = Array("X: ".utf8) + bytes.prefix(bytes.count / 90) + Array("\r\n".utf8)
        let lines = (0..<90).flatMap { _ in line }
        return parsing("GET / HTTP/1.1\r\nHost: a\r\n", lines, "\r\n")
    }
    ["Host", "X", "Connection", "Upgrade", "Expect", "Content-Length", "Transfer-Encoding", "Cookie", "Content-Type"]
        .map { name in
            made("the field \(name)", spelled: [.field]) {
                parsing("GET / HTTP/1.1\r\n\(name == "Host" ? "" : "Host: a\r\n")\(name): ", $0, "\r\n\r\n")
            }
        }
}

private let queries = places {
    bytes("a query's value", spelled: [.plain, .percent]) { bytes in
        let query = RequestQuery((Array("dialect=".utf8) + bytes)[...])
        for name in ["dialect", "target", "ticket"] { use(query[name]) }
    }
    bytes("a query's name", spelled: [.plain, .percent]) { bytes in
        let query = RequestQuery((bytes + Array("=a&dialect=b".utf8))[...])
        for name in ["dialect", "target", "ticket"] { use(query[name]) }
    }
    bytes("a whole query", spelled: [.plain, .percent]) { bytes in use(RequestQuery(bytes[...])["ticket"]) }
}

private func handshake(_ change: (inout OpeningRequest) -> Void) -> OpeningRequest {
    var request = OpeningRequest(
        method: "GET", upgrade: ["websocket"], connection: ["upgrade"], key: ["dGhlIHNhbXBsZSBub25jZQ=="],
        webSocketVersion: ["13"])
    change(&request)
    return request
}

private func opening(
    _ name: String, _ change: @escaping @Sendable (inout OpeningRequest, String) -> Void
) -> HostilePlace {
    made("\(name) of an opening handshake", spelled: [.field]) { bytes in
        let request = handshake { change(&$0, String(decoding: bytes, as: UTF8.self)) }
        return {
            guard case .success(let opened)? = OpeningHandshake.judge(request) else { return }
            use(opened.accept)
            use(opened.subprotocol(known: ["telnet", "binary"]))
            for member in opened.extensions {
                use(DeflateOffer(member).flatMap { DeflateAgreement(to: $0, settings: DeflateSettings()) })
            }
        }
    }
}

private let handshakes = places {
    opening("the method") { $0.method = $1 }
    opening("Upgrade") { $0.upgrade = [$1] }
    opening("Connection") { $0.connection = [$1] }
    opening("the key") { $0.key = [$1] }
    opening("the version") { $0.webSocketVersion = [$1] }
    opening("the subprotocols") { $0.protocols = [$1] }
    opening("the extensions") { $0.extensions = [$1] }
    opening("an extension's value") { $0.extensions = ["permessage-deflate; server_max_window_bits=\($1)"] }
    opening("an extension's quoted value") { $0.extensions = ["permessage-deflate; server_max_window_bits=\"\($1)\""] }
    opening("an extension's parameter") { $0.extensions = ["permessage-deflate; \($1)=1"] }
}

/// In two bytes.
private func length(_ count: Int) -> [UInt8] { [UInt8(count >> 8 & 255), UInt8(count & 255)] }

private func proxied(_ bytes: [UInt8]) -> () -> Void {
    {
        var parser = ProxyHeaderParser()
        use(parser.parse(bytes[...]))
    }
}

private func unmasked(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
    if payload.count < 126 { return [first, UInt8(payload.count)] + payload }
    if payload.count < 65_536 { return [first, 126] + length(payload.count) + payload }
    return [first, 127, 0, 0, 0, 0] + length(payload.count >> 16) + length(payload.count) + payload
}

/// Masked with zeros.
private func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
    var frame = unmasked(first, payload)
    let head = frame.count - payload.count
    frame[1] |= 0x80
    frame.insert(contentsOf: [0, 0, 0, 0], at: head)
    return frame
}

private func fragments(_ bytes: [UInt8]) -> () -> Void {
    let pieces =
        bytes.prefix(bytes.count / 7).enumerated().flatMap { frame($0 == 0 ? 0x01 : 0x00, [$1]) } + frame(0x80, [])
    return { read(pieces) }
}

private func read(_ frames: [UInt8]) {
    var reader = FrameReader(
        role: .server, limits: MessageLimits(messageBytes: 65_536, fragments: .max, emptyFragments: 10))
    var bytes = frames
    var position = 0
    while true {
        var span = bytes.mutableSpan
        guard reader.next(in: &span, from: &position) != nil else { return }
    }
}

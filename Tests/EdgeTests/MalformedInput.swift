import EdgeTestKit

/// Almost valid inputs, which are the most dangerous: valid messages with a few random faults.
enum MalformedInput {
    static func request(_ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = sound(&generator)
        for _ in 0..<Int.random(in: 0...4, using: &generator) { spoil(&bytes, &generator) }
        return bytes
    }

    /// A few frames of any opcode, length and mask, some of them cut.
    static func frames(_ generator: inout SeededGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let length = [0, 1, 2, 125, 126, 127, 1000, 65_535, 65_536, 70_000].randomElement(using: &generator) ?? 0
            let isShort = Int.random(in: 0..<8, using: &generator) > 0
            var frame = WebSocketFrame(
                UInt8.random(in: 0...15, using: &generator), generator.bytes(isShort ? min(length, 130) : length))
            frame.isFinal = Bool.random(using: &generator)
            frame.reserved =
                Int.random(in: 0..<4, using: &generator) == 0 ? UInt8.random(in: 0...7, using: &generator) : 0
            let form: WebSocketFrame.LengthForm =
                Int.random(in: 0..<6, using: &generator) == 0 ? .sixtyFourBits : .minimal
            let mask = Int.random(in: 0..<6, using: &generator) == 0 ? nil : generator.bytes(4)
            bytes += frame.encoded(mask: mask, length: form)
        }
        for _ in 0..<Int.random(in: 0...2, using: &generator) { spoil(&bytes, &generator) }
        return bytes
    }

    /// Random bytes, or the beginning of a TLS record with random contents.
    static func clientHello(_ generator: inout SeededGenerator) -> [UInt8] {
        let body = generator.bytes(Int.random(in: 0...600, using: &generator))
        guard Bool.random(using: &generator) else { return body }
        let length = Int.random(in: 0...body.count + 20, using: &generator)
        return [0x16, 3, 1, UInt8(length >> 8), UInt8(length & 0xFF), 1, 0, UInt8(body.count >> 8)] + body
    }

    private static func sound(_ generator: inout SeededGenerator) -> [UInt8] {
        let nonce = Hex.encode(generator.bytes(32))
        let base64 =
            ["AAAA", "o2NmbXRvYXBwbGUtYXBwYXR0ZXN0", String(repeating: "/", count: 400)]
            .randomElement(using: &generator) ?? ""
        let body = "{\"keyId\":\"\(base64)\",\"attestation\":\"\(base64)\",\"nonce\":\"\(nonce)\"}"
        let upgrade = Handshake().offering("telnet", "binary").adding([
            "X-App-Assert-KeyId": base64, "X-App-Assert-Data": base64, "X-App-Assert-Nonce": nonce,
            "Origin": "https://localhost", "Content-Length": "0",
        ])
        let texts = [
            "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /attest/challenge HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n",
            GatewayProcess.post("/attest/register", body), upgrade.text, Handshake().text,
            "POST /attest/register HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "CONNECT host:1 HTTP/1.1\r\nHost: host:1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            Handshake().setting("Upgrade", "h2c").adding("HTTP2-Settings", "AAMAAABkAAQAAP__").text,
        ]
        return Array((texts.randomElement(using: &generator) ?? "").utf8)
    }

    /// One fault: a flipped, lost, doubled, inserted or repeated piece, or an end too soon.
    static func spoil(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let index = Int.random(in: bytes.indices, using: &generator)
        let end = min(bytes.count, index + Int.random(in: 1...40, using: &generator))
        let special: [[UInt8]] = [
            [0], [13], [10], [13, 10], [13, 10, 13, 10], [9], [0xFF], Array(": ".utf8),
            Array("Content-Length: 5\r\n".utf8),
            Array("Connection: close\r\n".utf8), Array("%00%2e%2e/".utf8), [UInt8](repeating: 65, count: 5000),
        ]
        switch Int.random(in: 0..<7, using: &generator) {
        case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 1: bytes.removeSubrange(index..<end)
        case 2: bytes.insert(contentsOf: Array(bytes[index..<end]), at: index)
        case 3: bytes.insert(contentsOf: special.randomElement(using: &generator) ?? [], at: index)
        case 4: bytes.insert(contentsOf: generator.bytes(end - index), at: index)
        case 5: bytes.replaceSubrange(index..<end, with: generator.bytes(end - index))
        default: bytes.removeSubrange(index...)
        }
    }
}

import CharacterSets
import Compression

@testable import RelayCore
@testable import Telnet

/// What a MUD sends, on its way to clients of each dialect, and what clients are told again after a resume.
let telnetPlaces = places {
    translated.flatMap(told)
    mud(.typed, "a character set") { subnegotiation(42, "\u{1};", $0) }
    mud(.typed, "a character set's table") { subnegotiation(42, "\u{1}[TTABLE", $0, "];a") }
    mud(.typed, "an environment") { subnegotiation(39, "\u{1}\u{0}", $0) }
    mud(.typed, "a terminal's type") { subnegotiation(24, "\u{1}", $0) }
    mud(.typed, "an unknown option") { subnegotiation(99, "", $0) }
    mud(.typed, "MSDP tables") { subnegotiation(69, "\u{1}a\u{2}\u{3}\u{1}", $0, "\u{2}a\u{4}") }
    mud(.typed, "MSDP nesting") { bytes in subnegotiation(69, "\u{1}a", woven(bytes, [2, 3, 1])) }
    mud(.typed, "MSDP values") { bytes in subnegotiation(69, "\u{1}a", woven(bytes, [2])) }
    mud(.typed, "prompts") { bytes in
        stride(from: 0, to: bytes.count - 16, by: 16).flatMap { bytes[$0..<$0 + 16] + [255, 249] }
    }
    mud(.terminal, "markup", mxp: .strip) { $0 }
    mud(.terminal, "a tag", mxp: .strip) { [60] + $0 + [62] }
    mud(.terminal, "an entity", mxp: .strip) { [38] + $0 + [59] }
    mud(.terminal, "markup that passes", mxp: .pass) { $0 }
    bytes("an encoding's name") { use(TextEncoding(name: String(decoding: $0, as: UTF8.self))) }
    made("input for a target") { bytes in
        let input = Array(String(decoding: bytes, as: UTF8.self).utf8)
        return {
            for encoding in [TextEncoding.utf8, .latin1, .gbk] {
                var (client, output) = (client(encoding), [UInt8]())
                client.appendInput(input[...], to: &output)
                use(client.appendGMCP(name: "A.B", data: input, to: &output))
                use(client.appendGMCP(name: String(decoding: input, as: UTF8.self), data: [], to: &output))
            }
        }
    }
    text("an MSDP value for a target") { text in
        use(MSDP.canSay(name: text, value: .table([MSDPEntry(name: text, value: .array([.string(text)]))])))
    }
    encodings.map { encoding in
        bytes("text in \(encoding.charsetName)") { bytes in
            var (client, input) = (client(encoding), bytes[...])
            while client.next(&input, now: 0) != nil {}
        }
    }
}

private let encodings: [TextEncoding] = [
    .latin1, .ascii, .windows1252, .koi8r, .gbk, .gb18030, .big5, .euckr, .shiftjis, .eucjp,
]

private let translated: [DialectKind] = [.typed, .gmcp, .json, .legacy, .terminal]

/// What every dialect tells its clients in its own way.
private func told(_ kind: DialectKind) -> [HostilePlace] {
    places {
        mud(kind, "text") { $0 }
        mud(kind, "GMCP data") { subnegotiation(201, "A.B \"", $0, "\"") }
        mud(kind, "a GMCP name") { subnegotiation(201, "", $0, " {}") }
        mud(kind, "GMCP members") { subnegotiation(201, "A.B {\"", $0, "\":1}") }
        mud(kind, "an MSDP name", bytes: MSDP.maximumNameBytes) { subnegotiation(69, "\u{1}", $0, "\u{2}a") }
        mud(kind, "an MSDP value") { subnegotiation(69, "\u{1}a\u{2}", $0) }
        mud(kind, "MSSP") { subnegotiation(70, "\u{1}a\u{2}", $0) }
        mud(kind, "an MSSP name") { subnegotiation(70, "\u{1}", $0, "\u{2}a") }
        mud(kind, "ATCP") { subnegotiation(200, "A.B ", $0) }
        mud(kind, "MSDP names of 1,000 octets") { bytes in
            let name = Array(bytes.prefix(1_000))
            return (0..<bytes.count / 1_000).flatMap { subnegotiation(69, "\u{1}", name, "\($0)\u{2}a") }
        }
        mud(kind, "GMCP names without end") { bytes in
            (0..<bytes.count / 40).flatMap { subnegotiation(201, "Aaaaaaaaaaaaaaaaaaaaaaa.B\($0) 1", []) }
        }
    }
}

private func client(_ encoding: TextEncoding) -> TelnetClient {
    var settings = TelnetClientSettings()
    settings.encoding = encoding
    settings.tables = IconvTables.shared
    return TelnetClient(settings: settings)
}

/// With its bytes 255 doubled.
private func subnegotiation(_ option: UInt8, _ front: String, _ text: [UInt8], _ back: String = "") -> [UInt8] {
    var bytes: [UInt8] = [255, 250, option]
    for byte in Array(front.utf8) + text + Array(back.utf8) {
        bytes.append(byte)
        if byte == 255 { bytes.append(byte) }
    }
    return bytes + [255, 240]
}

private struct NoCompressor: FrameCompressor {
    func compress(_ bytes: [UInt8]) -> [UInt8]? { nil }
}

private struct NoTranslation: Error {}

private let identity = SessionIdentity(
    id: "3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1", token: String(repeating: "0123456789abcdef", count: 4))

/// A session whose MUD has switched every option on.
private func session(_ kind: DialectKind, mxp: MXPMode) throws -> Translation {
    var output = TranslationOutput()
    guard
        var translation = Translation(
            kind: kind, client: ClientDescription(), compressor: NoCompressor(),
            makeDecompressor: { ZlibDecompressor() })
    else { throw NoTranslation() }
    if translation.awaitsConnect {
        let connect = kind == .legacy ? #"{"connect":1}"# : #"{"type":"connect","target":""}"#
        translation.receive(Array(connect.utf8)[...], isText: true, isLast: true, into: &output)
    }
    var settings = TelnetClientSettings()
    settings.mxp = mxp
    settings.tables = IconvTables.shared
    settings.maximumSubnegotiationBytes = 1 << 20
    translation.connected(identity, telnet: settings, into: &output)
    let will: [UInt8] = [201, 69, 70, 200, 91, 42]
    let asked: [UInt8] = [24, 39, 31, 42]
    let offered: [UInt8] = will.flatMap { [255, 251, $0] as [UInt8] }
    let requested: [UInt8] = asked.flatMap { [255, 253, $0] as [UInt8] }
    var offers = (offered + requested)[...]
    while translation.next(&offers, now: 0, into: &output) {}
    return translation
}

/// Some bytes before each byte of the text.
private func woven(_ text: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
    text.reduce(into: []) { woven, byte in
        woven += bytes
        woven.append(byte)
    }
}

/// - Parameter stream: what the MUD sends for a text. Its bytes 255 are doubled only in subnegotiations: elsewhere they
///   are commands.
private func mud(
    _ kind: DialectKind, _ name: String, bytes: Int = 65_536, mxp: MXPMode = .refuse,
    _ stream: @escaping @Sendable ([UInt8]) -> [UInt8]
) -> HostilePlace {
    made("\(name) of a MUD to a \(kind.rawValue) client", bytes: bytes) { bytes in
        let stream = stream(bytes)
        let translation = try session(kind, mxp: mxp)
        return { play(stream, translation) }
    }
}

private func play(_ stream: [UInt8], _ translation: Translation) {
    var (translation, output, input) = (translation, TranslationOutput(), stream[...])
    while translation.next(&input, now: 0, into: &output) { output.removeAll() }
    guard translation.isResumable else { return }
    translation.detached()
    translation.attached(identity, after: 0, into: &output)
    use(output.frames.bytes.count)
}

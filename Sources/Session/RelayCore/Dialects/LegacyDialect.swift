import StrictJSON
import Telnet
import WireText

/// The protocol of mud-web-proxy's browser clients: a first message `{"connect":1,…}`, then text.
///
/// These clients read a telnet stream from which the proxy has taken what it answers itself. What they get depends on
/// `"mccp"` of their `connect`:
///
/// | event | with `"mccp":0` | otherwise |
/// |---|---|---|
/// | text | a binary message | in the stream |
/// | echo | a binary message: `IAC WILL ECHO` or `IAC WONT ECHO` | in the stream: the same |
/// | GMCP, ATCP | a text message: `{"gmcp":"Package.Name json"}` | in the stream: a subnegotiation of the option |
/// | MSDP | a text message: `{"msdp":{"key":…,"val":…}}` | in the stream: a subnegotiation of the option |
///
/// The stream comes in text messages: base64 of a complete raw DEFLATE stream each, and each of an event, so no command
/// is ever split. Text is UTF-8, so that no byte of it is an IAC, and what comes as JSON is escaped. Prompts and MSSP
/// aren't passed on.
struct LegacyDialect: Dialect {
    static let numbering: ReplayBuffer.Numbering? = nil

    private let compressor: any FrameCompressor
    var hasConnected = false
    /// Applies also to errors about the `connect` message that declines compression.
    var compresses = true

    init(compressor: any FrameCompressor) {
        self.compressor = compressor
    }

    var awaitsConnect: Bool { true }

    func encode(_ event: TargetEvent, keeping history: inout SessionHistory, into frames: inout FrameBuffer) {
        switch event {
        case .text(let text): append(Array(text), to: &frames)
        case .echo(let isSuppressed): append(echo: isSuppressed ? .will : .wont, to: &frames)
        case .gmcp(let name, let data): append(.gmcp, GMCP.payload(name: name, data: data), to: &frames)
        case .atcp(let name, let text): append(.atcp, GMCP.payload(name: name, data: Array(text.utf8)), to: &frames)
        case .msdp(let name, let value): append(msdp: name, value, to: &frames)
        case .prompt, .mssp: break
        }
    }

    /// The client hides what is typed from WILL on, and keeps it out of its history.
    private func append(echo verb: TelnetVerb, to frames: inout FrameBuffer) {
        var bytes: [UInt8] = []
        TelnetEncoder.appendNegotiation(verb, .echo, to: &bytes)
        append(bytes, to: &frames)
    }

    /// - Parameter payload: `Package.Name data`, in valid UTF-8.
    private func append(_ option: TelnetOption, _ payload: [UInt8]?, to frames: inout FrameBuffer) {
        guard let payload else { return }
        guard !compresses else { return append(subnegotiation: option, payload, to: &frames) }
        frames.append(isText: true) { bytes in
            bytes.append(#"{"gmcp":"#)
            JSONWriter.append(utf8: payload.span, to: &bytes)
            bytes.append("}")
        }
    }

    private func append(msdp name: String, _ value: MSDPValue, to frames: inout FrameBuffer) {
        guard !compresses else {
            guard let payload = MSDP.payload(name: name, value: value) else { return }
            return append(subnegotiation: .msdp, payload, to: &frames)
        }
        let pair = JSONObject([.init("key", .string(name)), .init("val", JSONValue(value))])
        frames.append(isText: true) { JSONWriter.append(.object(JSONObject([.init("msdp", .object(pair))])), to: &$0) }
    }

    private func append(subnegotiation option: TelnetOption, _ payload: [UInt8], to frames: inout FrameBuffer) {
        var bytes: [UInt8] = []
        TelnetEncoder.appendSubnegotiation(option, payload, to: &bytes)
        append(bytes, to: &frames)
    }

    func encode(_ error: DialectError, into frames: inout FrameBuffer) {
        notice(error.message, to: &frames)
    }

    func encode(_ failure: DialFailure, into frames: inout FrameBuffer) -> CloseReason? {
        switch failure {
        case .unreachable: notice("Error: maybe the mud server is down?", to: &frames)
        case .timedOut: notice("Timeout: server port is down.", to: &frames)
        case .notSecured, .notAllowed, .routeNotAllowed, .portNotAllowed, .limited:
            notice("Error: \(failure.error.message)", to: &frames)
        }
        return failure.close
    }

    private func notice(_ text: String, to frames: inout FrameBuffer) {
        append(Array("\r\n\(text)\r\n".utf8), to: &frames)
    }

    private func append(_ text: [UInt8], to frames: inout FrameBuffer) {
        guard compresses else { return frames.append(isText: false) { $0.append(contentsOf: text) } }
        let deflated = compressor.compress(text) ?? StoredDeflate.stream(of: text)
        frames.append(isText: true) { Base64.append(deflated[...], to: &$0) }
    }
}

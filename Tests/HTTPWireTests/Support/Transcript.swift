import HTTPWire

/// All events of a parser for the bytes of one connection.
struct Transcript: Equatable {
    struct Request: Equatable {
        let head: RequestHead
        var body: [UInt8] = []
        var isComplete = false
    }

    var requests: [Request] = []
    var fault: RequestFault?
    /// The number of bytes consumed; 0 after a fault.
    var consumed = 0
    var hasBegun = false
    var isHead = false

    var only: RequestHead? { requests.count == 1 && fault == nil ? requests.first?.head : nil }

    /// - Parameter pieces: the network input, in this order.
    init(_ pieces: [ArraySlice<UInt8>], limits: RequestLimits = RequestLimits()) {
        var parser = RequestParser(limits: limits)
        var pending: [UInt8] = []
        for piece in pieces where fault == nil {
            pending += piece
            take(&pending, &parser)
        }
        hasBegun = parser.hasBegun
        isHead = parser.isHead
    }

    init(_ text: String, limits: RequestLimits = RequestLimits()) { self.init([Array(text.utf8)[...]], limits: limits) }

    private mutating func take(_ pending: inout [UInt8], _ parser: inout RequestParser) {
        while true {
            let progress = parser.parse(pending.span)
            let bytes = pending
            pending.removeFirst(progress.consumed)
            consumed += progress.consumed
            switch progress.event {
            case .needsMore: return
            case .malformed(let fault):
                self.fault = fault
                return consumed = 0
            case .head(let head): requests.append(Request(head: head))
            case .body(let range): requests[requests.count - 1].body += bytes[range]
            case .end:
                requests[requests.count - 1].isComplete = true
                parser.reset()
                if pending.isEmpty { return }
            }
        }
    }
}

/// `bytes` split in two at every position, and in pieces of one byte.
func splits(of bytes: [UInt8]) -> [[ArraySlice<UInt8>]] {
    (0...bytes.count).map { [bytes[..<$0], bytes[$0...]] } + [bytes.indices.map { bytes[$0...$0] }]
}

func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

/// The header of a request without body, with `Host`.
func request(_ line: String = "GET / HTTP/1.1", _ fields: String...) -> String {
    ([line, "Host: a.example"] + fields).map { $0 + "\r\n" }.joined() + "\r\n"
}

extension RequestParser {
    mutating func parse(bytes: [UInt8]) -> RequestProgress { parse(bytes.span) }
}

extension RequestHead {
    var methodText: String { text(method) }
    var pathText: String { text(path) }
    var queryText: String? { query.map { text($0) } }
    var authorityText: String? { authority.map { text($0) } }

    func values(_ name: String) -> [String] { fields.all(name).map { text($0) } }

    /// The request in canonical form: single spaces, no leading empty lines.
    var canonical: [UInt8] {
        let target =
            switch targetForm {
            case .origin: pathText + (queryText.map { "?" + $0 } ?? "")
            case .absolute:
                "http://" + (authorityText ?? "") + (pathText == "*" ? "" : pathText)
                    + (queryText.map { "?" + $0 } ?? "")
            case .authority: authorityText ?? ""
            case .asterisk: "*"
            }
        var bytes = Array("\(methodText) \(target) HTTP/1.\(version == .http11 ? 1 : 0)\r\n".utf8)
        for field in fields { bytes += field.name + ": ".utf8 + field.value + "\r\n".utf8 }
        return bytes + "\r\n".utf8
    }
}

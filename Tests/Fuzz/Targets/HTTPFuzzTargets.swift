import HTTPWire
import WireText

/// Clients' HTTP, and our responses.
let httpFuzzTargets = [
    // The first byte chooses the limits, the others are a connection's bytes.
    FuzzTarget("http-request") { bytes in
        var limits = RequestLimits()
        if let choice = bytes.first, choice & 1 == 1 {
            limits.maximumFields = 3
            limits.maximumHeaderBytes = 64
            limits.maximumBodyBytes = 16
            limits.maximumTrailerBytes = 16
        }
        let stream = bytes.dropFirst()
        let whole = try HTTPConversation([stream], limits)
        for count in [1, 2, 7] {
            try require(
                try HTTPConversation(pieces(of: stream, count), limits) == whole, "pieces are read as the whole is")
        }
        for request in whole.requests {
            try checkHead(request.head, limits)
            try require(request.body.count <= limits.maximumBodyBytes, "a body is bounded")
            let written = canonical(request.head)
            let again = try HTTPConversation([written[...]], roomyLimits).requests.first?.head
            try require(again.map(canonical) == written, "a header written again is the same header")
            try require(
                again?.framing == request.head.framing && again?.keepsAlive == request.head.keepsAlive
                    && again?.expectsContinue == request.head.expectsContinue,
                "a header written again means the same")
        }
    },
    FuzzTarget("http-query") { bytes in
        let query = RequestQuery(bytes[...])
        for name in ["a", "ticket", "", "b c"] {
            guard case .value(let value) = query[name] else { continue }
            try require(
                value.utf8.count <= RequestQuery.maximumValueBytes
                    && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F },
                "a value is bounded, and without control characters")
            let escaped = value.utf8.map { "%" + String($0, radix: 16).leftPadded }.joined()
            let again = RequestQuery(Array("x=y&\(name)=\(escaped)".utf8)[...])
            try require(again[name] == .value(value), "a value written again is the same value")
        }
    },
    // Two lines of text are a field's name and value, whatever they are.
    FuzzTarget("http-response") { bytes in
        let name = text(bytes.prefix { $0 != UInt8(ascii: "|") })
        let value = text(bytes.drop { $0 != UInt8(ascii: "|") }.dropFirst())
        var response = Response(.ok)
        response.add(name, value)
        var output: [UInt8] = []
        var writer = ResponseWriter(closesConnection: false)
        writer.write(response, body: bytes, into: &output)
        let option = name.lowercased() == "upgrade" ? ", Upgrade" : ""
        let line = Array("HTTP/1.1 200 OK\r\n\(name): \(value)\r\nConnection: keep-alive\(option)\r\n".utf8)
        let end = Array("Content-Length: \(bytes.count)\r\n\r\n".utf8) + bytes
        let failure = Array("HTTP/1.1 500 Internal Server Error\r\n".utf8)
        try require(
            response.isInvalid ? output.starts(with: failure) : output == line + end, "a field is one line or none")
        try require(
            response.isInvalid || !(name + value).utf8.contains { $0 == 13 || $0 == 10 || $0 == 0 },
            "no field ends its line")
    },
]

/// Of a header that is written again: its fields have spaces behind their colons, and Host may have become longer.
private var roomyLimits: RequestLimits {
    var limits = RequestLimits()
    limits.maximumRequestLineBytes *= 2
    limits.maximumFieldBytes *= 2
    limits.maximumHeaderBytes *= 2
    return limits
}

/// Promises about a header that was accepted, in other words than the parser's.
private func checkHead(_ head: RequestHead, _ limits: RequestLimits) throws {
    try require(head.fields.count <= limits.maximumFields, "fields are bounded")
    try require(head.method.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a method is visible")
    for field in head.fields {
        try require(
            !field.name.isEmpty && field.name.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") },
            "a name is visible")
        try require(field.value.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }, "a value has no controls")
        let name = text(field.name).lowercased()
        try require(
            head.fields.all(name).contains(field.value) && head.fields.first(name) != nil, "fields are found")
        let members = ListMembers(field.value).reduce(0) { $0 + $1.count }
        try require(members <= field.value.count, "members are parts of the value")
    }
    try require((head.path + (head.query ?? [])).allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a target is visible")
    try require(head.fields.count("host") == 1 || head.version == .http10, "there is one host")
    if let authority = head.authority, authority.first == UInt8(ascii: "[") {
        let address = authority.dropFirst().prefix { $0 != UInt8(ascii: "]") }
        try require(IPAddressText.ipv6(address) != nil, "an address in brackets is IPv6")
    }
}

private func canonical(_ head: RequestHead) -> [UInt8] {
    var target = Array(head.path)
    switch head.targetForm {
    case .origin, .asterisk: break
    case .absolute: target = "http://".utf8 + (head.authority ?? []) + (target == [UInt8(ascii: "*")] ? [] : target)
    case .authority: target = Array(head.authority ?? [])
    }
    if let query = head.query { target += "?".utf8 + query }
    var bytes = head.method + " ".utf8 + target + " HTTP/1.\(head.version == .http11 ? 1 : 0)\r\n".utf8
    for field in head.fields { bytes += field.name + ": ".utf8 + field.value + "\r\n".utf8 }
    return Array(bytes + "\r\n".utf8)
}

/// All that a parser says about the bytes of one connection.
private struct HTTPConversation: Equatable {
    struct Request: Equatable {
        let head: RequestHead
        var body: [UInt8] = []
        var isComplete = false
    }

    private(set) var requests: [Request] = []
    private(set) var fault: RequestFault?
    private(set) var isHead = false

    init(_ pieces: [ArraySlice<UInt8>], _ limits: RequestLimits) throws {
        var parser = RequestParser(limits: limits)
        var pending: [UInt8] = []
        for piece in pieces where fault == nil {
            pending += piece
            try take(&pending, &parser)
        }
        isHead = parser.isHead
    }

    private mutating func take(_ pending: inout [UInt8], _ parser: inout RequestParser) throws {
        while true {
            let progress = parser.parse(pending.span)
            try require(progress.consumed <= pending.count, "no more is read than there is")
            let taken = pending.prefix(progress.consumed)
            switch progress.event {
            case .needsMore:
                try require(progress.consumed == pending.count, "all is read before more is asked for")
                return pending = []
            case .malformed(let fault):
                let nothing: [UInt8] = []
                let again = parser.parse(nothing.span)
                try require(again.event == .malformed(fault), "a fault stays")
                return self.fault = fault
            case .head(let head): requests.append(Request(head: head))
            case .body(let range):
                try require(!range.isEmpty && range.upperBound == progress.consumed, "a piece is what was read last")
                requests[requests.count - 1].body += taken[range]
            case .end:
                requests[requests.count - 1].isComplete = true
                parser.reset()
                if progress.consumed == pending.count { return pending = [] }
            }
            pending.removeFirst(progress.consumed)
        }
    }
}

extension String {
    fileprivate var leftPadded: String { count == 1 ? "0" + self : self }
}

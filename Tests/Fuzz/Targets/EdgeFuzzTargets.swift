import Glibc
import HTTPWire
import WebSocketWire
import WireText

@testable import Admission
@testable import ProxyProtocol
@testable import Reactors
@testable import RelayCore

/// The input before and around a request: the PROXY header, addresses, headers, the query.
let edgeFuzzTargets = [
    FuzzTarget("proxy-header") { bytes in
        var parser = ProxyHeaderParser()
        let whole = parser.parse(bytes[...])
        var cut = ProxyHeaderParser()
        var last = ProxyHeaderProgress.needsMore
        var consumed = 0
        for index in bytes.indices where last == .needsMore {
            last = cut.parse(bytes[index...index])
            consumed = index + 1
        }
        guard case .complete(let header, let count) = whole else {
            return try require(last == whole, "byte by byte the same is refused")
        }
        try require(
            last == .complete(header, consumedBytes: 1) && consumed == count
                && count <= ProxyHeaderLimits.maximumBytes,
            "byte by byte the same is read")
        for version in ProxyVersion.allCases where version == .v2 || header.tlvs.isEmpty {
            guard header.command == .proxy, let written = header.encoded(as: version) else { continue }
            var again = ProxyHeaderParser()
            try require(
                again.parse(written[...]) == .complete(header, consumedBytes: written.count),
                "a header written is the same header")
        }
    },
    FuzzTarget("forwarded") { bytes in
        let text = text(bytes)
        for forwarded in [ForwardedFor(xForwardedFor: text), ForwardedFor(forwarded: text)] {
            try require(
                forwarded.client(of: EdgeSample.client, trusted: EdgeSample.proxies) == EdgeSample.client,
                "nobody but a proxy is believed")
            let client = forwarded.client(of: EdgeSample.proxy, trusted: EdgeSample.proxies)
            guard !EdgeSample.proxies.contains(where: { $0.contains(client) }) else { continue }
            var longer = forwarded
            longer.xForwardedFor = longer.xForwardedFor.map { "198.51.100.9, \"," + $0 }
            longer.forwarded = longer.forwarded.map { "for=198.51.100.9;by=\"," + $0 }
            try require(
                longer.client(of: EdgeSample.proxy, trusted: EdgeSample.proxies) == client,
                "what stands before the client's address is the client's own word")
        }
    },
    FuzzTarget("ip-address") { bytes in
        guard !bytes.contains(0) else { return }
        let text = text(bytes)
        var ipv4 = in_addr()
        var ipv6 = in6_addr()
        // The C library reads the same notations.
        let isIPv4 = isUTF8(bytes) && inet_pton(AF_INET, text, &ipv4) == 1
        let isIPv6 = isUTF8(bytes) && inet_pton(AF_INET6, text, &ipv6) == 1
        let ours = (IPAddressText.ipv4(bytes[...]), IPAddressText.ipv6(bytes[...]))
        try require(ours.0 == (isIPv4 ? withUnsafeBytes(of: ipv4) { Array($0) } : nil), "IPv4 is what inet_pton reads")
        try require(ours.1 == (isIPv6 ? withUnsafeBytes(of: ipv6) { Array($0) } : nil), "IPv6 is what inet_pton reads")
        if let address = ours.1 {
            try require(
                IPAddressText.ipv6(Array(IPAddressText.compressed(address).utf8)[...]) == address,
                "an address written is the same address")
        }
        if let address = IPAddress(text: text) {
            try require(IPAddress(text: address.text) == address, "a client has one address")
        }
        if let range = AddressRange(text), let address = ours.0.flatMap({ _ in IPAddress(text: text) }) {
            try require(range.contains(address), "an address is the range of itself")
        }
    },
    FuzzTarget("query") { bytes in
        let query = RequestQuery(bytes[...])
        func value(_ name: String) -> String? {
            if case .value(let value) = query[name] { value } else { nil }
        }
        for name in ["session", "token", "lastSeq", "ticket", "target", "host", "port", "cols", "client", "ttype"] {
            guard let value = value(name) else { continue }
            try require(
                value.utf8.count <= RequestQuery.maximumValueBytes
                    && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F },
                "a value is bounded, and without control characters")
        }
        let resume = ResumeRequest(parameter: value)
        try require((resume == nil) == (value("session") == nil), "a session is asked for by its name")
        if let resume {
            try require(
                resume.description == "\(resume.sessionID) after \(resume.lastSeq)", "no token is shown")
        }
        let client = ClientDescription(parameter: value)
        try require(client.columns != 0 && client.rows != 0, "a size isn't zero")
        try require(
            [client.name, client.terminalType].allSatisfy { ($0?.utf8.count ?? 0) <= 64 },
            "what clients call themselves is short")
    },
    FuzzTarget("request-fields") { bytes in
        let text = text(bytes)
        if let origin = WebOrigin(text) {
            try require(WebOrigin(origin.text) == origin, "an origin has one form")
        }
    },
    FuzzTarget("utf8") { bytes in
        var whole = UTF8Validator()
        let isAccepted = whole.accept(bytes.span) == bytes.count && whole.isComplete
        try require(isAccepted == isUTF8(bytes), "UTF-8 is what the standard library takes for it")
        var cut = UTF8Validator()
        let areAccepted = bytes.allSatisfy { cut.accept([$0].span) == 1 }
        try require((areAccepted && cut.isComplete) == isAccepted, "byte by byte the same is accepted")
        try require(bytes[...].isValidUTF8 == isAccepted, "there are not two opinions")
    },
]

private enum EdgeSample {
    static let client = IPAddress(ipv4: (203, 0, 113, 5))
    static let proxy = IPAddress(ipv4: (10, 0, 0, 1))
    static let proxies = AddressRange.list("10.0.0.0/8, fd00::/8") ?? []
}

import WireText

/// How the end of a request's body is determined (RFC 9112 §6.3).
package enum BodyFraming: Hashable, Sendable {
    /// No body.
    case none
    /// Within ``RequestLimits/maximumBodyBytes``; zero is possible.
    case length(Int)
    case chunked

    /// False if the framing shows that there is no body to read.
    package var hasContent: Bool {
        switch self {
        case .none, .length(0): false
        case .length, .chunked: true
        }
    }
}

/// The fields that determine the host and the framing, collected in one pass over the header.
struct FramingFields {
    private var hosts = 0
    private var contentLengths = 0
    private var transferEncodings = 0
    private var host = 0..<0
    private var contentLength = 0..<0
    private var transferEncoding = 0..<0
    /// Positions in the list of fields.
    private(set) var hostIndex: Int?
    private(set) var hasExpect = false

    init(_ bytes: Span<UInt8>, _ fields: [FieldRange]) {
        for (index, field) in fields.enumerated() {
            let name = bytes.extracting(field.name)
            switch name.count {
            case 4 where name.equalsIgnoringCase("host"):
                hosts += 1
                host = field.value
                hostIndex = index
            case 6 where name.equalsIgnoringCase("expect"):
                hasExpect = true
            case 14 where name.equalsIgnoringCase("content-length"):
                contentLengths += 1
                contentLength = field.value
            case 17 where name.equalsIgnoringCase("transfer-encoding"):
                transferEncodings += 1
                transferEncoding = field.value
            default: break
            }
        }
    }

    /// RFC 9112 §3.2: HTTP/1.1 requires one Host field. HTTP/1.0 requires none, but repeated or malformed ones are
    /// refused there too.
    func checkHost(_ bytes: Span<UInt8>, _ version: HTTPVersion) throws(RequestFault) {
        guard hosts <= 1 else { throw .hostRepeated }
        guard hosts == 1 else {
            guard version == .http10 else { throw .hostMissing }
            return
        }
        guard Authority.isValid(bytes.extracting(host)) else { throw .hostMalformed }
    }

    /// Stricter than RFC 9112 §6.3: anything that two servers could interpret differently is refused.
    func framing(_ bytes: Span<UInt8>, _ version: HTTPVersion, _ limits: RequestLimits) throws(RequestFault)
        -> BodyFraming
    {
        if transferEncodings > 0 {
            try checkTransferEncoding(bytes, version)
            return .chunked
        }
        guard contentLengths > 0 else { return .none }
        guard contentLengths == 1 else { throw .contentLengthRepeated }
        let length = try Self.number(bytes.extracting(contentLength))
        guard length <= limits.maximumBodyBytes else { throw .bodyTooLarge }
        return .length(length)
    }

    /// RFC 9112 §6.1 and §7.
    private func checkTransferEncoding(_ bytes: Span<UInt8>, _ version: HTTPVersion) throws(RequestFault) {
        guard contentLengths == 0 else { throw .contentLengthWithTransferEncoding }
        guard version == .http11 else { throw .transferEncodingInHTTP10 }
        guard transferEncodings == 1 else { throw .transferEncodingRepeated }
        guard bytes.extracting(transferEncoding).equalsIgnoringCase("chunked") else {
            throw .transferEncodingUnsupported
        }
    }

    /// RFC 9110 §8.6: `1*DIGIT`. It allows servers to accept lists of equal numbers; these are refused.
    private static func number(_ digits: Span<UInt8>) throws(RequestFault) -> Int {
        guard !digits.isEmpty else { throw .contentLengthMalformed }
        var number = 0
        var hasOverflow = false
        for index in digits.indices {
            guard ASCIIByte.isDigit(digits[index]) else { throw .contentLengthMalformed }
            let (shifted, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isOver) = shifted.addingReportingOverflow(Int(digits[index] - UInt8(ascii: "0")))
            hasOverflow = hasOverflow || isTooLarge || isOver
            number = sum
        }
        guard !hasOverflow else { throw .contentLengthOverflow }
        return number
    }
}

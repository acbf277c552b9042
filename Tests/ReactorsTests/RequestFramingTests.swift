import Testing

@testable import Reactors

/// Every way to frame a body, and what becomes of it.
struct RequestFramingTests {
    private static let maximum = 65_536

    struct Case: Sendable, CustomTestStringConvertible {
        let method: RequestHead.Method
        let encoding: String?
        let length: String?
        let outcome: Outcome

        init(_ method: RequestHead.Method, encoding: String? = nil, length: String? = nil, _ outcome: Outcome) {
            self.method = method
            self.encoding = encoding
            self.length = length
            self.outcome = outcome
        }

        var testDescription: String {
            "\(method.rawValue), Transfer-Encoding \(encoding ?? "–"), Content-Length \(length ?? "–"): \(outcome)"
        }
    }

    enum Outcome: Equatable, Sendable {
        case none
        case body(Int)
        case malformed
        case lengthRequired
        case tooLarge
    }

    private static let cases: [Case] = [
        Case(.get, .none), Case(.head, .none), Case(.other, .none),
        Case(.get, length: "0", .none), Case(.head, length: "0", .none), Case(.other, length: "0", .none),
        Case(.get, length: "1", .malformed), Case(.head, length: "1", .malformed),
        Case(.other, length: "1", .malformed),
        Case(.post, .lengthRequired),
        Case(.post, length: "0", .body(0)), Case(.post, length: "1", .body(1)),
        Case(.post, length: "007", .body(7)),
        Case(.post, length: "65536", .body(65_536)), Case(.post, length: "65537", .tooLarge),
        Case(.post, length: String(repeating: "9", count: 18), .tooLarge),
        Case(.post, length: String(repeating: "9", count: 19), .malformed),
        Case(.post, length: String(repeating: "0", count: 18) + "1", .malformed),
        Case(.post, length: "", .malformed), Case(.post, length: " ", .malformed),
        Case(.post, length: "5,5", .malformed), Case(.post, length: "5, 5", .malformed),
        Case(.post, length: "5 5", .malformed), Case(.post, length: " 5", .malformed),
        Case(.post, length: "5 ", .malformed), Case(.post, length: "-5", .malformed),
        Case(.post, length: "-0", .malformed), Case(.post, length: "+5", .malformed),
        Case(.post, length: "5x", .malformed), Case(.post, length: "0x5", .malformed),
        Case(.post, length: "5.0", .malformed), Case(.post, length: "5e3", .malformed),
        Case(.post, length: "٥", .malformed), Case(.post, length: "5\u{0}", .malformed),
        Case(.get, length: "-1", .malformed), Case(.get, length: "0,0", .malformed),
        Case(.post, encoding: "chunked", .malformed), Case(.post, encoding: "identity", .malformed),
        Case(.post, encoding: "", .malformed), Case(.post, encoding: "chunked", length: "5", .malformed),
        Case(.get, encoding: "chunked", .malformed), Case(.get, encoding: "gzip, chunked", length: "0", .malformed),
    ]

    @Test(arguments: Self.cases)
    func `a body is framed in one way, or refused`(_ sample: Case) {
        let framing = RequestFraming.check(
            method: sample.method, transferEncoding: sample.encoding, contentLength: sample.length,
            maximumBodyBytes: Self.maximum)
        #expect(Self.outcome(framing) == sample.outcome)
    }

    @Test func `where no body is allowed a POST may say that it has none`() {
        for (length, outcome): (String, Outcome) in [("0", .body(0)), ("1", .tooLarge)] {
            let framing = RequestFraming.check(
                method: .post, transferEncoding: nil, contentLength: length, maximumBodyBytes: 0)
            #expect(Self.outcome(framing) == outcome)
        }
    }

    private static func outcome(_ framing: RequestFraming) -> Outcome {
        switch framing {
        case .none: .none
        case .body(let count): .body(count)
        case .refused(.malformed): .malformed
        case .refused(.lengthRequired): .lengthRequired
        case .refused(.bodyTooLarge): .tooLarge
        }
    }
}

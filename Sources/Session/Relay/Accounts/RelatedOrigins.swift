import Admission
import HTTPWire
import Reactors
import WireText

/// Pages of other origins that belong to the relying party may call the endpoints of accounts (CORS; Fetch Standard,
/// section 3.2). Others get no answer that their browser would show them.
struct RelatedOrigins {
    private static let fields = "authorization, content-type, dpop"
    private static let exposed = "DPoP-Nonce, Retry-After, X-Refusal-Code"
    /// Seconds for which a browser asks no preflight again.
    private static let maximumAge = "600"

    private let origins: [String]

    /// - Parameter origins: `https://…`, as browsers write them.
    init(_ origins: [String]) { self.origins = origins }

    private func origin(of head: RequestHead) -> String? {
        guard head.fields.count("origin") == 1, let origin = head.text("origin") else { return nil }
        return origins.first { $0.hasSameBytes(as: origin) }
    }

    func admitting(_ answer: HTTPAnswer, _ head: RequestHead) -> HTTPAnswer {
        var answer = answer
        if !origins.isEmpty { answer.headers.append(("Vary", "Origin")) }
        guard let origin = origin(of: head) else { return answer }
        answer.headers += [
            ("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", Self.exposed),
        ]
        return answer
    }

    /// - Parameter answer: to the OPTIONS request, which has `Allow`.
    func preflight(_ answer: HTTPAnswer, _ methods: [RequestMethod], _ head: RequestHead) -> HTTPAnswer {
        var admitted = admitting(answer, head)
        guard origin(of: head) != nil else { return admitted }
        admitted.headers += [
            ("Access-Control-Allow-Methods", methods.map(\.rawValue).joined(separator: ", ")),
            ("Access-Control-Allow-Headers", Self.fields), ("Access-Control-Max-Age", Self.maximumAge),
        ]
        return admitted
    }
}

import Admission
import HTTPWire
import PrometheusText
import Reactors
import WireText

@testable import Relay

/// What requests for sessions and for the internal listener name, and what operators ask for.
let connectionPlaces = places {
    sessions
    consoles
    text("a request's path") { use(RequestPath($0)) }
    text("a route in a path") { use(RequestPath("/mud/" + $0)) }
    text("slashes before a path") { use(RequestPath("//" + $0)) }
    prepared("a question's path") { text in
        return {
            use(AuthorizationDemand(path: text, query: text))
            use(AuthorizationDemand(path: "/admit/" + text, query: ""))
            use(AuthorizationDemand(path: "/admit/\(text)/authz", query: ""))
            use(AuthorizationDemand(path: "/route/\(text)/authz", query: ""))
            use(AuthorizationDemand(path: "/authz" + text, query: ""))
        }
    }
    text("a token for the internal listener") { text in
        let access = InternalAccess(token: try? InternalToken(String(repeating: "a", count: 40)))
        use(access.admits(field: text, authorization: nil, isCertified: false))
        for authorization in [text, "Bearer " + text, text + " a", "Basic " + Base64.encode(text.utf8)] {
            use(access.admits(field: nil, authorization: authorization, isCertified: false))
        }
    }
    text("Accept for metrics", spelled: [.field]) { use(ExpositionFormat(accept: $0)) }
    text("a version in Accept", spelled: [.field]) { use(ExpositionFormat(accept: "text/plain;version=" + $0)) }
    text("a quality in Accept", spelled: [.field]) { use(ExpositionFormat(accept: "text/plain;q=" + $0)) }
    text("spaces in Accept", spelled: [.field]) { use(ExpositionFormat(accept: "text/plain; " + $0 + " ,")) }
    text("a filter of sessions") { text in
        for filter in [SessionFilter(route: text), SessionFilter(subject: text), SessionFilter(address: text)] {
            use(
                SessionMatcher(filter)?.matches(
                    route: "live", .anonymous, IPAddress(ipv4: (192, 0, 2, 1))))
        }
    }
    text("the place of a page of sessions") { text in
        use(SessionRank(text))
        use(SessionRank("1-" + text))
    }
    text("the order of sessions") { use(SessionQuery.Order(word: $0)) }
}

private struct NoHead: Error {}

private func head(_ request: [UInt8]) throws -> RequestHead {
    var limits = RequestLimits()
    limits.maximumRequestLineBytes = 1 << 20
    limits.maximumFieldBytes = 1 << 20
    limits.maximumHeaderBytes = 1 << 20
    var parser = RequestParser(limits: limits)
    guard case .head(let head) = parser.parse(request.span).event else { throw NoHead() }
    return head
}

/// The parameters of an upgrade.
///
/// - Parameter target: with `$` for the text.
private func session(_ name: String, _ target: String, bytes: Int = 8_000) -> HostilePlace {
    made("\(name) of a session's request", bytes: bytes, spelled: [.percent]) { text in
        let parts = "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n".utf8.split(separator: UInt8(ascii: "$")).map {
            Array($0)
        }
        let head = try head(Array(parts.joined(separator: text)))
        return { use(SessionRequest(head)) }
    }
}

private let sessions = places {
    session("the dialect", "/?dialect=$")
    session("the target", "/?target=$")
    session("the route", "/mud/$")
    session("the session", "/?session=$&token=a&lastSeq=0")
    session("the token", "/?session=a&token=$&lastSeq=0")
    session("the last number", "/?session=a&token=a&lastSeq=$")
    session("the client", "/?client=$")
    session("the terminal", "/?ttype=$")
    session("the size", "/?cols=$")
    session("an unknown parameter", "/?$=$", bytes: 4_000)
}

private let guardian = ConsoleGuard(.loopback(host: "127.0.0.1", port: 1), random: [UInt8](repeating: 1, count: 32))

private func console(_ name: String, _ lines: String) -> HostilePlace {
    made("\(name) of the console", spelled: [.field]) { text in
        let parts = "POST /console/api/sessions/close HTTP/1.1\r\n\(lines)\r\n\r\n".utf8.split(
            separator: UInt8(ascii: "$"))
        // A host of other bytes is refused by the parser.
        guard let head = try? head(Array(parts.map { Array($0) }.joined(separator: text))) else { return {} }
        return {
            use(guardian.check(head))
            use(guardian.checkAction(head))
            use(guardian.checkAction(head, isTLS: true))
        }
    }
}

private let consoles = places {
    console("the origin", "Host: localhost\r\nOrigin: $")
    console("the site", "Host: localhost\r\nSec-Fetch-Site: $")
    console("the token", "Host: localhost\r\nX-Portcullis-Console: $")
    console("the host", "Host: $")
    text("a path of the console") { use(ConsoleRequest("/console/" + $0)) }
}

/// The stable names of an admission method. They are compile-time constants, so no client input becomes a metric label.
package struct MethodName: Hashable, Sendable {
    /// How many clients present one identity of a method.
    package enum Holders: Sendable {
        /// One, for a long time: the identity is its own.
        case one
        /// Maybe several, who are strangers to each other.
        case several
        /// One gets another identity at each visit, unless the operator gives one to several.
        case visitors
    }

    /// A class, because each session and each ticket stores a reference to it.
    private final class Names: Sendable {
        let label: String
        let route: String?
        let proxy: String
        let proxyByTicket: String
        let holders: Holders
        let isOnlyByName: Bool

        init(
            label: String, route: String?, proxy: String, proxyByTicket: String, holders: Holders, isOnlyByName: Bool
        ) {
            self.label = label
            self.route = route
            self.proxy = proxy
            self.proxyByTicket = proxyByTicket
            self.holders = holders
            self.isOnlyByName = isOnlyByName
        }
    }

    private let names: Names

    /// In the log, the audit log and metrics (`way`). It is unique among methods.
    package var label: String { names.label }
    /// In the `admit=` of a route; `nil` if no identity has this method.
    package var route: String? { names.route }
    /// In the PROXY header toward a target.
    package var proxy: String { names.proxy }
    /// The same, for a client admitted by a ticket.
    package var proxyByTicket: String { names.proxyByTicket }
    package var holders: Holders { names.holders }
    /// Only routes that name it in `admit=` are open to it; `admit=any` isn't enough.
    package var isOnlyByName: Bool { names.isOnlyByName }

    /// - Parameters:
    ///   - proxy: defaults to the label.
    ///   - proxyByTicket: defaults to `proxy` with `_ticket`.
    package init(
        label: StaticString, route: StaticString?, proxy: StaticString? = nil, proxyByTicket: StaticString? = nil,
        holders: Holders, isOnlyByName: Bool = false
    ) {
        let proxy = (proxy ?? label).description
        names = Names(
            label: label.description, route: route?.description, proxy: proxy,
            proxyByTicket: proxyByTicket?.description ?? proxy + "_ticket", holders: holders,
            isOnlyByName: isOnlyByName)
    }

    package static func == (one: MethodName, other: MethodName) -> Bool {
        one.names === other.names || one.label == other.label
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(label) }

    /// The request presented no credential, or was refused before the search for one.
    package static let none = MethodName(label: "none", route: nil, holders: .one)
}

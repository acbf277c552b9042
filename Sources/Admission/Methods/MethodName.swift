/// The stable names of an admission method. They are fixed when the gateway is compiled, so nothing that a client sends becomes a metric label.
package struct MethodName: Hashable, Sendable {
    /// Behind a reference: each session and each ticket has one of these.
    private final class Names: Sendable {
        let label: String
        let route: String?
        let proxy: String
        let proxyByTicket: String

        init(label: String, route: String?, proxy: String, proxyByTicket: String) {
            self.label = label
            self.route = route
            self.proxy = proxy
            self.proxyByTicket = proxyByTicket
        }
    }

    private let names: Names

    /// In the log, the audit log and metrics (`way`). No two methods have the same.
    package var label: String { names.label }
    /// In the `admit=` of a route; `nil` for what is never an identity's method.
    package var route: String? { names.route }
    /// In the PROXY header toward a target.
    package var proxy: String { names.proxy }
    /// The same, for a client that came by a ticket.
    package var proxyByTicket: String { names.proxyByTicket }

    /// - Parameters:
    ///   - proxy: the label where there is no other name.
    ///   - proxyByTicket: `proxy` with `_ticket` where there is no other name.
    package init(
        label: StaticString, route: StaticString?, proxy: StaticString? = nil, proxyByTicket: StaticString? = nil
    ) {
        let proxy = (proxy ?? label).description
        names = Names(
            label: label.description, route: route?.description, proxy: proxy,
            proxyByTicket: proxyByTicket?.description ?? proxy + "_ticket")
    }

    package static func == (one: MethodName, other: MethodName) -> Bool {
        one.names === other.names || one.label == other.label
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(label) }

    /// The request showed no credential, or was refused before one was looked for.
    package static let none = MethodName(label: "none", route: nil)
}

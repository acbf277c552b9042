/// Looks after development tokens for the console, as a `DeviceDesk` looks after devices, and under the same
/// conditions.
package protocol DevelopmentTokenDesk: Sendable {
    /// In the order in which they were issued.
    ///
    /// - Parameters:
    ///   - after: `next` of the page before.
    ///   - limit: at most `DevelopmentTokenPage.maximumLimit`.
    /// - Returns: nil if the store can't be read.
    func tokens(after: String?, limit: Int) async -> DevelopmentTokenPage?

    /// - Parameter detail: who does it, for the audit log.
    func revoke(_ id: String, detail: String) async -> DeskOutcome
}

/// One development token, as the console shows it. Times are text.
package struct DevelopmentTokenEntry: Codable, Sendable {
    package var id: String
    /// `valid`, `revoked` or `expired`.
    package var state: String
    package var name: String
    package var issued: String
    package var expires: String
    package var lastUsed: String?
    package var revoked: String?
    /// Of `maximumDevices`.
    package var devices: Int
    package var maximumDevices: Int
    /// Nil: all.
    package var routes: [String]?

    package init(
        id: String, state: String, name: String, issued: String, expires: String, lastUsed: String?, revoked: String?,
        devices: Int, maximumDevices: Int, routes: [String]?
    ) {
        self.id = id
        self.state = state
        self.name = name
        self.issued = issued
        self.expires = expires
        self.lastUsed = lastUsed
        self.revoked = revoked
        self.devices = devices
        self.maximumDevices = maximumDevices
        self.routes = routes
    }
}

package struct DevelopmentTokenPage: Codable, Sendable {
    package static let maximumLimit = 100

    package var tokens: [DevelopmentTokenEntry]
    package var next: String?

    package init(tokens: [DevelopmentTokenEntry], next: String?) {
        self.tokens = tokens
        self.next = next
    }
}

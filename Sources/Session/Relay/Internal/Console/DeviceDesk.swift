/// Looks after devices for the console. The composition root has one, because stores are its business. Safe from any
/// thread, and never on a reactor: it waits for a disk.
package protocol DeviceDesk: Sendable {
    /// - Parameters:
    ///   - after: `next` of the page before.
    ///   - limit: at most `DevicePage.maximumLimit`.
    /// - Returns: nil if the store can't be read or `after` is malformed.
    func devices(after: String?, limit: Int) async -> DevicePage?

    /// - Parameter detail: who does it, for the audit log.
    func change(_ device: String, _ change: DeviceChange, detail: String) async -> DeskOutcome
}

package enum DeviceChange: String, Sendable, CaseIterable {
    case revoke, restore
}

package enum DeskOutcome: Sendable, Equatable {
    case done
    case unknown
    case malformed
    /// The store or the audit log can't be written.
    case failed(String)
}

/// One device's key, as the console shows it. Times are text.
package struct DeviceEntry: Codable, Sendable, Equatable {
    package var key: String
    package var app: String
    package var environment: String
    package var counter: Int64
    package var registered: String
    package var lastUsed: String?
    package var revoked: String?
    package var reason: String?

    package init(
        key: String, app: String, environment: String, counter: Int64, registered: String, lastUsed: String?,
        revoked: String?, reason: String?
    ) {
        self.key = key
        self.app = app
        self.environment = environment
        self.counter = counter
        self.registered = registered
        self.lastUsed = lastUsed
        self.revoked = revoked
        self.reason = reason
    }
}

package struct DevicePage: Codable, Sendable, Equatable {
    package static let maximumLimit = 100

    package var devices: [DeviceEntry]
    package var next: String?

    package init(devices: [DeviceEntry], next: String?) {
        self.devices = devices
        self.next = next
    }
}

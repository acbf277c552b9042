import FoundationEssentials
import KeyStore
import Observability
import Relay

/// The console's devices: what `portcullis keys` does, on the gateway's own store, whose threads wait for the disk.
struct KeyDesk: DeviceDesk {
    private let store: any KeyMaintenance
    private let audit: AuditLog
    private let server: RelayServer

    /// - Parameter server: tells `AUDIT_FULL`.
    init(_ store: any KeyMaintenance, audit: AuditLog, server: RelayServer) {
        self.store = store
        self.audit = audit
        self.server = server
    }

    func devices(after: String?, limit: Int) async -> DevicePage? {
        var last: KeyID?
        if let after {
            guard let id = KeyID(text: after) else { return nil }
            last = id
        }
        guard let found = try? await store.listing(after: last, limit: limit + 1) else { return nil }
        let page = found.prefix(limit)
        return DevicePage(devices: page.map(DeviceEntry.init), next: found.count > limit ? page.last?.id.base64 : nil)
    }

    /// A revocation takes effect whether or not it can be recorded. A restoration lets somebody in, so it has to be
    /// recorded first.
    func change(_ device: String, _ change: DeviceChange, detail: String) async -> DeskOutcome {
        guard let id = KeyID(text: device) else { return .malformed }
        do throws(KeyRegistryError) {
            switch change {
            case .revoke:
                let now = Int64(Date.now.timeIntervalSince1970 * 1_000)
                guard try await store.revoke(id, reason: "by operator", at: now) else { return .unknown }
                record(id, change, detail)
            case .restore:
                guard try await store.key(id) != nil else { return .unknown }
                guard record(id, change, detail) || server.whenAuditFails == .continue else {
                    return .failed("The audit log can't be written, and AUDIT_FULL is refuse")
                }
                guard try await store.restore(id) else { return .unknown }
            }
            return .done
        } catch {
            return .failed("The key store can't be used now")
        }
    }

    @discardableResult
    private func record(_ id: KeyID, _ change: DeviceChange, _ detail: String) -> Bool {
        audit.record(
            AuditEntry(
                time: .now(), event: .operation, outcome: .done, method: "none", who: id.base64,
                reason: "key_\(change.rawValue)d", detail: detail, requestID: "-", address: "-"))
    }
}

extension DeviceEntry {
    fileprivate init(_ listed: ListedKey) {
        switch listed {
        case .key(let key): self.init(key)
        case .damaged(let id):
            self.init(
                key: id.base64, app: "(damaged record)", environment: "-", counter: 0, registered: "-", lastUsed: nil,
                revoked: nil, reason: nil)
        }
    }

    private init(_ key: DeviceKey) {
        func time(_ milliseconds: Int64?) -> String? { milliseconds.map { "\(Timestamp(unixMilliseconds: $0))" } }
        self.init(
            key: key.id.base64, app: "\(EscapedText(key.app, maximumBytes: 256))",
            environment: "\(EscapedText(key.environment, maximumBytes: 64))", counter: Int64(key.counter),
            registered: time(key.registeredAt) ?? "-", lastUsed: time(key.lastUsedAt), revoked: time(key.revokedAt),
            reason: key.revocationReason.map { "\(EscapedText($0, maximumBytes: 256))" })
    }
}

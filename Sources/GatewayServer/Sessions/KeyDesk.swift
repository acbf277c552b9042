import FoundationEssentials
import KeyStore
import Observability
import Relay

/// The console's devices: the same administration as `portcullis keys`, on the gateway's own store, whose threads wait for the disk.
struct KeyDesk: DeviceDesk {
    private let keys: KeyAdministration
    private let audit: AuditLog
    private let server: RelayServer

    /// - Parameter server: tells `AUDIT_FULL`.
    init(_ store: any KeyMaintenance, audit: AuditLog, server: RelayServer) {
        keys = KeyAdministration(store)
        self.audit = audit
        self.server = server
    }

    func devices(after: String?, limit: Int) async -> DevicePage? {
        do throws(KeyAdministrationError) {
            let found = try await keys.page(after: after, limit: limit + 1)
            let page = found.prefix(limit)
            return DevicePage(
                devices: page.map(DeviceEntry.init), next: found.count > limit ? page.last?.id.base64 : nil)
        } catch {
            return nil
        }
    }

    /// A revocation takes effect whether or not it can be recorded. A restoration lets somebody in, so it has to be recorded first.
    func change(_ device: String, _ change: DeviceChange, detail: String) async -> DeskOutcome {
        guard let id = KeyID(text: device) else { return .malformed }
        do throws(KeyAdministrationError) {
            switch change {
            case .revoke:
                try await keys.revoke(id.base64, reason: "by operator", at: .now)
                record(id, change, detail)
            case .restore:
                _ = try await keys.show(id.base64)
                guard record(id, change, detail) || server.whenAuditFails == .continue else {
                    return .failed("The audit log can't be written, and AUDIT_FULL is refuse")
                }
                try await keys.restore(id.base64)
            }
            return .done
        } catch .unknownKey {
            return .unknown
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

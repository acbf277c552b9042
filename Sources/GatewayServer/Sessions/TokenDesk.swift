import FoundationEssentials
import KeyStore
import Observability
import Relay
import WireText

/// The console's development tokens: the same administration as `portcullis dev-tokens`, on the gateway's own store.
struct TokenDesk: DevelopmentTokenDesk {
    private let tokens: DevelopmentTokenAdministration
    private let audit: AuditLog

    init(_ store: any DevelopmentTokenStore, audit: AuditLog) {
        tokens = DevelopmentTokenAdministration(store)
        self.audit = audit
    }

    func tokens(after: String?, limit: Int) async -> DevelopmentTokenPage? {
        do throws(DevelopmentTokenAdministrationError) {
            let all = try await tokens.all(at: .now)
            let rest =
                after.map { after in all.drop { !$0.token.id.text.hasSameBytes(as: after) }.dropFirst() } ?? all[...]
            let page = rest.prefix(limit)
            return DevelopmentTokenPage(
                tokens: page.map(DevelopmentTokenEntry.init), next: rest.count > limit ? page.last?.token.id.text : nil)
        } catch {
            return nil
        }
    }

    /// It takes effect whether or not it can be recorded.
    func revoke(_ id: String, detail: String) async -> DeskOutcome {
        do throws(DevelopmentTokenAdministrationError) {
            try await tokens.revoke(id, at: .now)
            audit.record(
                AuditEntry(
                    time: .now(), event: .operation, outcome: .done, method: "none", who: id,
                    reason: "development_token_revoked", detail: detail, requestID: "-", address: "-"))
            return .done
        } catch .malformedID {
            return .malformed
        } catch .unknown {
            return .unknown
        } catch {
            return .failed("The key store can't be used now")
        }
    }
}

extension DevelopmentTokenEntry {
    fileprivate init(_ described: DevelopmentTokenDescription) {
        let token = described.token
        self.init(
            id: token.id.text, state: described.state, name: "\(EscapedText(token.name))", issued: described.issued,
            expires: described.expires, lastUsed: described.lastUsed, revoked: described.revoked,
            devices: token.devices, maximumDevices: token.maximumDevices,
            routes: token.routes?.map { "\(EscapedText($0))" })
    }
}

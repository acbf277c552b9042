import FoundationEssentials
import KeyStore
import Observability
import Relay
import WireText

/// The console's development tokens: what `portcullis dev-tokens` does, on the gateway's own store.
struct TokenDesk: DevelopmentTokenDesk {
    private let store: any DevelopmentTokenStore
    private let audit: AuditLog

    init(_ store: any DevelopmentTokenStore, audit: AuditLog) {
        self.store = store
        self.audit = audit
    }

    func tokens(after: String?, limit: Int) async -> DevelopmentTokenPage? {
        guard let tokens = try? await store.developmentTokens() else { return nil }
        let now = Self.now
        let all = tokens.map { DevelopmentTokenDescription($0, at: now) }
        let rest = after.map { after in all.drop { !$0.token.id.text.hasSameBytes(as: after) }.dropFirst() } ?? all[...]
        let page = rest.prefix(limit)
        return DevelopmentTokenPage(
            tokens: page.map(DevelopmentTokenEntry.init), next: rest.count > limit ? page.last?.token.id.text : nil)
    }

    /// It takes effect whether or not it can be recorded.
    func revoke(_ id: String, detail: String) async -> DeskOutcome {
        guard let token = DevelopmentTokenID(text: id) else { return .malformed }
        do throws(KeyRegistryError) {
            guard try await store.revoke(token, at: Self.now) else { return .unknown }
        } catch {
            return .failed("The key store can't be used now")
        }
        audit.record(
            AuditEntry(
                time: .now(), event: .operation, outcome: .done, method: "none", who: id,
                reason: "development_token_revoked", detail: detail, requestID: "-", address: "-"))
        return .done
    }

    /// Unix milliseconds.
    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1_000) }
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

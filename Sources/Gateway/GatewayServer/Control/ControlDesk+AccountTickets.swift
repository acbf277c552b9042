import Admission
import KeyStore
import Relay

/// Tickets with which a player comes back to an account without any of its passkeys.
extension ControlDesk {
    /// - Parameter then: called once, on any thread.
    static func ticket(
        _ seconds: Int, for account: String, in accounts: (any AccountStore)?, of tickets: TicketOffice,
        _ record: OperatorRecord, then: @escaping @Sendable (ControlAnswer) -> Void
    ) {
        guard seconds > 0 else { return then(.refused(reason: "seconds begin at 1")) }
        guard let accounts else {
            return then(.refused(reason: "accounts are off: the gateway runs without PASSKEY_RP_ID"))
        }
        guard let id = AccountID(text: account) else { return then(.refused(reason: "this is no account")) }
        Task {
            if let reason = await problem(with: id, in: accounts) { return then(.refused(reason: reason)) }
            tickets.issueForOperator(timeToLive: .seconds(seconds), uses: 1, proves: id, at: .now) { issue in
                then(answer(issue, "a passkey for the account \(id)", of: tickets, page: nil, record))
            }
        }
    }

    private static func problem(with id: AccountID, in accounts: any AccountStore) async -> String? {
        do throws(KeyRegistryError) {
            let standing = try await accounts.standing(ofAccount: id)
            guard let standing else { return "there is no such account" }
            return standing.isClosed ? "the account is closed" : nil
        } catch {
            return "the store doesn't answer: \(error)"
        }
    }
}

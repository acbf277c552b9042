/// One record of a store.
package enum StoreRecord: Sendable {
    case key(DeviceKey)
    case token(TransferredToken)
    case signingKey(StoredSigningKey)
    case revokedSigningKey(StoredSigningKeys.Revoked)
    case secret(NamedSecret)
    /// A session's next ticket.
    case ticket(KeptTicket)
    /// An entry of a fleet's block list; the time in Unix milliseconds.
    case blocked(entry: String, reason: String?, addedAt: Int64)
    /// With its passkeys and devices.
    case account(Account)

    /// For the operator, of bounded length.
    package var name: String {
        switch self {
        case .key(let key): Self.name(of: key.id)
        case .token(let token): "development token \(token.token.id)"
        case .signingKey(let key): Self.name(ofSigningKey: key.id)
        case .revokedSigningKey(let key): Self.name(ofSigningKey: key.id)
        case .secret(let secret): Self.name(ofSecret: secret.name)
        case .ticket: Self.ticketName
        case .blocked(let entry, _, _): "block list entry \(Self.short(entry))"
        case .account(let account): Self.name(of: account.id)
        }
    }

    package static func name(of key: KeyID) -> String { "key \(key.base64)" }
    package static func name(of account: AccountID) -> String { "account \(account)" }
    package static func name(ofSigningKey id: String) -> String { "signing key \(short(id))" }
    package static func name(ofSecret name: String) -> String { "secret \(short(name))" }

    /// Nothing about a ticket is for a screen.
    package static let ticketName = "a ticket"

    private static let maximumNameBytes = 64

    private static func short(_ text: String) -> String {
        String(decoding: text.utf8.prefix(maximumNameBytes), as: UTF8.self)
    }
}

/// What a record has to be to have come from a registration, an assertion or an operator's command.
package protocol RecordRules: Sendable {
    /// - Returns: what is wrong with it, in words for the operator; empty: nothing.
    func faults(of record: StoreRecord) -> [String]
}

/// A record that can't be read, or that no gateway can have stored.
package struct RecordFault: Hashable, Sendable, CustomStringConvertible {
    /// Such as `key 5Bkq…=`.
    package let record: String
    package let text: String

    package var description: String { "\(record): \(text)" }
}

/// The result of reading every record of a store: how many there are, and what is wrong with which.
package struct StoreSurvey: Sendable {
    /// Faults that are listed; further ones are only counted.
    package static let maximumListed = 20
    /// Device keys of a store. More aren't read.
    package static let maximumKeys = 10_000_000
    /// Accounts of a store, likewise.
    package static let maximumAccounts = 10_000_000

    private let rules: any RecordRules
    package private(set) var faults: [RecordFault] = []
    package private(set) var faultCount = 0
    package private(set) var keys = 0
    package private(set) var revokedKeys = 0
    package private(set) var tokens = 0
    package private(set) var signingKeys = 0
    package private(set) var secrets = 0
    package private(set) var blocked = 0
    package private(set) var accounts = 0

    package init(by rules: any RecordRules) { self.rules = rules }

    package var isGood: Bool { faultCount == 0 }

    package mutating func take(_ record: StoreRecord) {
        switch record {
        case .key(let key):
            keys += 1
            revokedKeys += key.isRevoked ? 1 : 0
        case .token: tokens += 1
        case .signingKey: signingKeys += 1
        case .revokedSigningKey, .ticket: break
        case .secret: secrets += 1
        case .blocked: blocked += 1
        case .account: accounts += 1
        }
        for fault in rules.faults(of: record) { note(fault, in: record.name) }
    }

    /// - Parameters:
    ///   - fault: what is wrong with it.
    ///   - record: which one.
    package mutating func note(_ fault: String, in record: String) {
        faultCount += 1
        if faults.count < Self.maximumListed { faults.append(RecordFault(record: record, text: fault)) }
    }

    /// What there is, in one line.
    package var summary: String {
        "\(keys) keys, of which \(revokedKeys) are revoked; \(signingKeys) signing keys, \(tokens) development tokens,"
            + " \(accounts) accounts"
    }

    /// For `store check`: one about all records, and one for each fault that is listed.
    ///
    /// - Parameter remedy: what to do about a fault.
    package func findings(_ remedy: String) -> [StoreFinding] {
        guard !isGood else { return [.good(.records, summary)] }
        let all = StoreFinding.error(
            .records, "\(summary); \(faultCount) faults in records, of which \(faults.count) are listed", remedy)
        return [all] + faults.map { .error(.records, "\($0)", remedy) }
    }
}

/// A store whose records can be read one by one, whatever is wrong with them.
package protocol SurveyedStore {
    /// Reads every record of one moment, in bounded memory. Blocks.
    ///
    /// - Throws: if the store can't be read further. What is wrong with single records is in the survey.
    func survey(into survey: inout StoreSurvey) throws(KeyRegistryError)
}

/// The lengths that stored values can have, in bytes. A longer one is a fault of its record; no reader takes it as it
/// is.
package enum RecordLimits {
    /// X9.63, uncompressed.
    package static let publicKeyBytes = 65
    /// A team, a dot, and a bundle identifier.
    package static let appBytes = 266
    package static let environmentBytes = 16
    package static let trustRootBytes = 32
    /// An attestation has at most so many, and the receipt and the version are parts of it.
    package static let attestationBytes = 16_384
    package static let reasonBytes = 4_096
    /// All texts and bytes of a device key together: more than the sum of the others. A page of 500 keys stays below 16
    /// MiB.
    package static let keyRecordBytes = 24_576
    /// Name, routes and identifier of a development token: 32 names of 32 bytes, with a comma each, and the rest.
    package static let tokenRecordBytes = 2_048
    package static let signingKeyNameBytes = 64
    package static let secretNameBytes = 64
    /// Also of one that is encrypted.
    package static let secretBytes = 1_024
    /// Tickets of a store: ``KeptTicket/perSession`` of so many sessions as an earlier program could be set to.
    package static let ticketRows = 2_000_000
    /// Rows of signing keys, those of revoked ones included, and of secrets, each.
    package static let secretRows = 1_000
}

/// A key in a list, which one damaged record doesn't end.
package enum ListedKey: Hashable, Sendable {
    case key(DeviceKey)
    /// Its record can't be read: `portcullis store check` says more.
    case damaged(KeyID)

    package var id: KeyID {
        switch self {
        case .key(let key): key.id
        case .damaged(let id): id
        }
    }

    package var key: DeviceKey? { if case .key(let key) = self { key } else { nil } }
}

import KeyStore

extension RefreshFamilyID {
    /// Two bytes, so that there can be many.
    static func sample(_ number: Int) -> RefreshFamilyID {
        let bytes = [UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)] + [UInt8](repeating: 4, count: length - 2)
        guard let id = RefreshFamilyID(bytes: bytes) else { preconditionFailure() }
        return id
    }
}

/// What stands for the hash of a family's token.
func tokenHash(_ number: Int) -> [UInt8] {
    [UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)] + [UInt8](repeating: 5, count: RefreshLimits.hashBytes - 2)
}

let familyKey = [UInt8](repeating: 6, count: RefreshLimits.hashBytes)

extension RefreshFamily {
    /// Of account 1 and its passkey 1, with token 0.
    static func sample(
        _ number: Int = 1, account: UInt8 = 1, beginner: RefreshBeginner = .passkey(.sample(1)), at time: Int64 = 1_000
    ) -> RefreshFamily {
        RefreshFamily(
            id: .sample(number), account: .sample(account), beginner: beginner, key: familyKey, hash: tokenHash(0),
            at: time, expiresAt: time + 100_000)
    }
}

extension RefreshUse {
    /// The token that is used, and the successor that it gets.
    static func sample(
        _ token: Int, to successor: Int, of family: Int = 1, key: [UInt8] = familyKey, at time: Int64 = 2_000,
        repeating milliseconds: Int64 = 60_000
    ) -> RefreshUse {
        RefreshUse(
            family: .sample(family), key: key, hash: tokenHash(token), successor: tokenHash(successor),
            sealed: [UInt8(successor & 0xFF)], time: time, expiresAt: time + 100_000, repeatMilliseconds: milliseconds)
    }
}

extension RefreshOutcome {
    var isRotated: Bool { if case .rotated = self { true } else { false } }

    /// What stands for the sealed token that is good.
    var repeatedSealed: [UInt8]? { if case .repeated(_, let sealed) = self { sealed } else { nil } }
}

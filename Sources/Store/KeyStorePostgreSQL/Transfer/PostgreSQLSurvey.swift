package import KeyStore
import PostgreSQL

/// Every record of a fleet's database, at the moment of the transfer's transaction. The server measures values before
/// it sends them.
extension PostgreSQLTransfer: SurveyedStore {
    package func survey(into survey: inout StoreSurvey) throws(KeyRegistryError) {
        do throws(DatabaseError) {
            try surveyKeys(&survey)
            try surveyTokens(&survey)
            try surveySigningKeys(&survey)
            try surveySecrets(&survey)
            try surveyBlockList(&survey)
            try surveyAccounts(&survey)
        } catch {
            throw KeyRegistryError(error)
        }
    }

    private func surveyKeys(_ survey: inout StoreSurvey) throws(DatabaseError) {
        var last: [UInt8] = []
        while survey.keys < StoreSurvey.maximumKeys {
            let rows = try session.run(.page, [.bytes(last), .integer(Int64(StoreTransfer.batch))])
            guard rows.count > 0 else { return }
            for index in 0..<rows.count {
                last = try rows[index].bytes(0)
                guard let id = KeyID(bytes: last) else {
                    survey.note("its identifier hasn't \(KeyID.length) bytes", in: "a key")
                    continue
                }
                take(StoreRecord.name(of: id), &survey) { () throws(DatabaseError) in .key(try DeviceKey(rows[index])) }
            }
        }
        survey.note("it has more than \(StoreSurvey.maximumKeys) rows", in: "device_key")
    }

    private func surveyTokens(_ survey: inout StoreSurvey) throws(DatabaseError) {
        let maximum = DevelopmentTokenLimits.maximumTokens
        guard try count("development_token") <= maximum else {
            return survey.note("it has more than \(maximum) rows", in: "development_token")
        }
        let rows = try session.run(.tokens, [])
        for index in 0..<rows.count {
            let hash = DevelopmentTokenHash(bytes: try rows[index].bytes(0))
            let name = hash.map { "development token \($0.id)" } ?? "a development token"
            take(name, &survey) { () throws(DatabaseError) in
                let token = try DevelopmentToken(rows[index])
                guard token.devices <= DevelopmentToken.largestDeviceLimit else { throw .malformed }
                return .token(TransferredToken(token: token, places: try places(of: token.hash)))
            }
        }
    }

    private func surveySigningKeys(_ survey: inout StoreSurvey) throws(DatabaseError) {
        guard try count("signing_key") <= RecordLimits.secretRows else {
            return survey.note("it has more than \(RecordLimits.secretRows) rows", in: "signing_key")
        }
        let rows = try session.run(.signingKeys, [])
        for index in 0..<rows.count {
            guard let id = try rows[index].optionalText(1) else { continue }
            take(StoreRecord.name(ofSigningKey: id), &survey) { () throws(DatabaseError) in
                let row = try SigningKeyRow(rows[index])
                guard let stored = try? StoredSigningKeys.read([row], sealing).keys else { throw .malformed }
                if let revoked = stored.revoked.first { return .revokedSigningKey(revoked) }
                guard let key = stored.keys.first else { throw .malformed }
                return .signingKey(key)
            }
        }
    }

    private func surveySecrets(_ survey: inout StoreSurvey) throws(DatabaseError) {
        guard try count("secret") <= RecordLimits.secretRows else {
            return survey.note("it has more than \(RecordLimits.secretRows) rows", in: "secret")
        }
        let rows = try session.run(.secrets, [])
        for index in 0..<rows.count {
            let name = try rows[index].text(0)
            take(StoreRecord.name(ofSecret: name), &survey) { () throws(DatabaseError) in
                guard let value = try? sealing.open(try rows[index].bytes(1), for: .secret(name)) else {
                    throw .malformed
                }
                return .secret(NamedSecret(name: name, value: value))
            }
        }
    }

    private func surveyBlockList(_ survey: inout StoreSurvey) throws(DatabaseError) {
        var last = ""
        while true {
            let rows = try session.run(.blockedRecords, [.text(last)])
            guard rows.count > 0 else { return }
            for index in 0..<rows.count {
                last = try rows[index].text(0)
                survey.take(
                    .blocked(
                        entry: last, reason: try rows[index].optionalText(1), addedAt: try rows[index].integer(2)))
            }
        }
    }

    private func surveyAccounts(_ survey: inout StoreSurvey) throws(DatabaseError) {
        var last: [UInt8] = []
        while survey.accounts < StoreSurvey.maximumAccounts {
            let rows = try session.run(.accountNames, [.bytes(last)])
            guard rows.count > 0 else { return }
            for index in 0..<rows.count {
                let id = try rows[index].accountID(0)
                last = id.bytes
                take(StoreRecord.name(of: id), &survey) { () throws(DatabaseError) in
                    guard let account = try Account.read(session.run(.account, [.bytes(id.bytes)])).first else {
                        throw .malformed
                    }
                    return .account(account)
                }
            }
        }
        survey.note("it has more than \(StoreSurvey.maximumAccounts) rows", in: "account")
    }

    private func count(_ table: String) throws(DatabaseError) -> Int {
        Int(clamping: try session.run("SELECT count(*) FROM portcullis.\(table)", []).only().integer(0))
    }

    /// Reads one record. What can't be read is a fault of this record alone.
    private func take(
        _ name: String, _ survey: inout StoreSurvey, _ read: () throws(DatabaseError) -> StoreRecord
    ) {
        do throws(DatabaseError) {
            survey.take(try read())
        } catch .malformed {
            survey.note("a value is missing, too long, can't be decrypted, or is of another form", in: name)
        } catch {
            survey.note("\(error)", in: name)
        }
    }
}

extension SQLStatement {
    private static let entriesAtOnce = 5_000

    fileprivate static let accountNames = SQLStatement(
        "account_names", maximumRows: entriesAtOnce,
        """
        SELECT account_id FROM portcullis.account WHERE account_id > $1::bytea
        ORDER BY account_id LIMIT \(entriesAtOnce)
        """)
    fileprivate static let blockedRecords = SQLStatement(
        "blocked_records", maximumRows: entriesAtOnce,
        """
        SELECT entry, reason, added_at FROM portcullis.block WHERE entry COLLATE "C" > $1::text COLLATE "C"
        ORDER BY entry COLLATE "C" LIMIT \(entriesAtOnce)
        """)
}

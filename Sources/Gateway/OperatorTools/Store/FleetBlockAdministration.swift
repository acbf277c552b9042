import Admission
import KeyStorePostgreSQL
package import Observability
import PostgreSQL
import Settings
import WireText

/// The operator's changes of the fleet's block list. The calls block; each is one transaction, together with its entry
/// in the feed of changes.
extension FleetStoreAdministration {
    /// Of one command, and so of one statement.
    private static let entriesAtOnce = 10_000

    /// - Parameter lines: as in the file of BLOCK_LIST_PATH: empty lines and comments are left out.
    /// - Returns: what to tell the operator.
    package func block(_ lines: [String], reason: String?, at time: Timestamp) throws(OperatorError) -> String {
        if let reason, reason.utf8.count > FleetBlockList.maximumReasonBytes {
            throw .invalidBlock("the reason has more than \(FleetBlockList.maximumReasonBytes) bytes", "Shorten it.")
        }
        let entries = try entries(lines)
        let session = try checkedSession()
        var added: Int64 = 0
        for start in stride(from: 0, to: entries.count, by: Self.entriesAtOnce) {
            let part = Array(entries[start..<min(start + Self.entriesAtOnce, entries.count)])
            let count = try database { () throws(DatabaseError) in
                try FleetBlockList.add(
                    part, reason: reason, at: time.unixMilliseconds, maximum: BlockList.maximumCount, in: session)
            }
            guard let count else { throw .tooManyBlocks }
            added += count
        }
        return "added \(added) of \(entries.count) to the fleet's block list"
            + (added < Int64(entries.count) ? "; the others were on it" : "")
    }

    package func unblock(_ lines: [String]) throws(OperatorError) -> String {
        // Not checked further: what is stored can be removed, whoever has stored it.
        let entries = OperatorList.lines(of: lines.joined(separator: "\n")).map { $0.words.joined(separator: " ") }
        let session = try checkedSession()
        let removed = try database { () throws(DatabaseError) in try FleetBlockList.remove(entries, in: session) }
        guard removed > 0 || entries.isEmpty else { throw .noSuchBlock }
        return "removed \(removed) of \(entries.count) from the fleet's block list"
    }

    /// One line an entry, as in the file of BLOCK_LIST_PATH; time and reason are a comment.
    package func blocked(json: Bool = false) throws(OperatorError) -> [String] {
        let session = try checkedSession()
        let found = try database { () throws(DatabaseError) in try FleetBlockList.entries(in: session) }
        return found.map { entry in
            let added = "\(Timestamp(unixMilliseconds: entry.addedAt))"
            guard !json else { return Self.object(entry.text, added, entry.reason) }
            return "\(EscapedText(entry.text))  # \(added)" + (entry.reason.map { " \(EscapedText($0))" } ?? "")
        }
    }

    /// In one line.
    private static func object(_ entry: String, _ added: String, _ reason: String?) -> String {
        var writer = JSONWriter()
        writer.member("entry", entry)
        writer.member("addedAt", added)
        if let reason { writer.member("reason", reason) }
        return String(decoding: writer.object, as: UTF8.self)
    }

    /// In one spelling, so that the same entry isn't stored twice.
    private func entries(_ lines: [String]) throws(OperatorError) -> [String] {
        let text = lines.joined(separator: "\n")
        do throws(OperatorListError) {
            _ = try BlockList(text, kinds: [ConfiguredMethod].all.blockListKinds)
        } catch {
            throw .invalidBlock("line \(error.line ?? 0) \(error.problem)", error.remedy)
        }
        let entries = OperatorList.lines(of: text).map { $0.words.joined(separator: " ") }
        guard !entries.isEmpty else {
            throw .invalidBlock("there is no entry", "Write one, like: address 203.0.113.0/24")
        }
        return entries
    }

    private func checkedSession() throws(OperatorError) -> PostgreSQLConnection {
        let session = try connect()
        do throws(PostgreSQLSchemaError) { try PostgreSQLSchema.current.check(session) } catch {
            throw .database("\(configuration)", "\(error)")
        }
        return session
    }

    private func database<Value>(_ body: () throws(DatabaseError) -> Value) throws(OperatorError) -> Value {
        do throws(DatabaseError) { return try body() } catch {
            throw .database("\(configuration)", "\(error)")
        }
    }
}

extension OperatorError {
    static func invalidBlock(_ problem: String, _ remedy: String) -> OperatorError {
        OperatorError("the block list isn't changed: \(EscapedText(problem))", hint: remedy)
    }

    static let tooManyBlocks = OperatorError(
        "the fleet's block list would have more than \(BlockList.maximumCount) entries",
        hint: "Join addresses to ranges, and remove entries that have done their work.")
    static let noSuchBlock = OperatorError(
        "none of it is on the fleet's block list",
        hint: "portcullis block-list list prints it. Entries are compared as they are written there.")
}

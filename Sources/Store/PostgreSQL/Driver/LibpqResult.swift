import CLibpq

/// One result of libpq's: it owns its memory.
final class LibpqResult {
    private let raw: OpaquePointer

    init(_ raw: OpaquePointer) { self.raw = raw }

    deinit { PQclear(raw) }

    enum Kind {
        /// A statement without rows has ended.
        case done
        /// Rows; perhaps not all.
        case rows
        case synchronized
        /// An earlier part of the same transaction has failed.
        case skipped
        case failed
    }

    var kind: Kind {
        switch PQresultStatus(raw) {
        case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: .done
        case PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE: .rows
        case PGRES_PIPELINE_SYNC: .synchronized
        case PGRES_PIPELINE_ABORTED: .skipped
        default: .failed
        }
    }

    /// The server's error; nil if the connection failed rather than the statement.
    var error: DatabaseError? {
        guard let code = portcullis_result_state(raw) else { return nil }
        let state = SQLState(String(cString: code))
        let message = portcullis_result_message(raw).map { oneLine(String(cString: $0)) }
        return .refused(state, state.hasHarmlessMessage ? message ?? "" : "")
    }

    var columns: Int { Int(PQnfields(raw)) }
    var count: Int { Int(PQntuples(raw)) }

    func append(to rows: inout SQLRows) {
        for row in 0..<PQntuples(raw) {
            for column in 0..<PQnfields(raw) { rows.append(cell: cell(row, column)) }
        }
    }

    private func cell(_ row: Int32, _ column: Int32) -> [UInt8]? {
        guard PQgetisnull(raw, row, column) == 0, let start = PQgetvalue(raw, row, column) else { return nil }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(raw, row, column))))
    }
}

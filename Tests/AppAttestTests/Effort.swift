import Foundation

/// How many random inputs the tests try. `scripts/test --full` (`PORTCULLIS_FULL_TESTS=1`) tries all of them, which
/// takes minutes in a debug build.
enum Effort {
    static let isFull = ProcessInfo.processInfo.environment["PORTCULLIS_FULL_TESTS"] == "1"

    /// - Parameter full: the number with `--full`; otherwise it is a tenth.
    static func count(_ full: Int) -> Int { isFull ? full : full / 10 }
}

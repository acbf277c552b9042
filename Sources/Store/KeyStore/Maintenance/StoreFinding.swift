/// One result of the check of a store.
package struct StoreFinding: Hashable, Sendable {
    package enum Grade: String, Sendable, Comparable {
        case good = "ok"
        /// Worth a look; the store works.
        case warning
        /// Something has to be done.
        case error

        private var rank: Int { [.good, .warning, .error].firstIndex(of: self) ?? 0 }

        package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
    }

    package enum Subject: String, Sendable {
        // Of a file.
        case directory
        case file
        case writeAheadLog = "write-ahead log"
        case disk
        case integrity
        // Of a database that several gateways share.
        case connection
        case transport
        case server
        case incarnation
        case secrets
        case backup
        // Of both.
        case schema
        case records
    }

    package let subject: Subject
    package let grade: Grade
    /// What was found.
    package let text: String
    /// What to do; nil if nothing is.
    package let remedy: String?

    package static func good(_ subject: Subject, _ text: String) -> Self {
        Self(subject: subject, grade: .good, text: text, remedy: nil)
    }

    package static func warning(_ subject: Subject, _ text: String, _ remedy: String) -> Self {
        Self(subject: subject, grade: .warning, text: text, remedy: remedy)
    }

    package static func error(_ subject: Subject, _ text: String, _ remedy: String) -> Self {
        Self(subject: subject, grade: .error, text: text, remedy: remedy)
    }
}

import Glibc

/// The party that chose a target's host. It determines the limit on name lookups.
package enum HostChooser: Sendable, Hashable {
    /// Names chosen by operators are always looked up.
    case operators
    /// At most one lookup at a time for each of these texts, which identify the client: its credential and its address.
    case client([String])
}

/// Why a client-chosen name isn't looked up; the text is for the log.
enum LookupRefusal: String, Error {
    case clientIsBusy = "a name that this client chose is still being looked up"
    case exhausted = "too many names that clients chose are being looked up"
}

/// The client-caused lookups that hold a thread or wait for one.
///
/// An unresponsive name server holds a thread for as long as the resolver waits, even if the result is no longer
/// needed. A lookup therefore counts until its thread is free again, and lookups over the budget are refused: clients'
/// lookups never queue up.
struct LookupBudget {
    private let maximum: Int
    private var count = 0
    private var busy: Set<String> = []

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// - Returns: nil if the lookup may begin; `end` must follow then.
    mutating func begin(for chooser: HostChooser) -> LookupRefusal? {
        guard case .client(let names) = chooser else { return nil }
        guard busy.isDisjoint(with: names) else { return .clientIsBusy }
        guard count < maximum else { return .exhausted }
        count += 1
        busy.formUnion(names)
        return nil
    }

    mutating func end(for chooser: HostChooser) {
        guard case .client(let names) = chooser else { return }
        count -= 1
        busy.subtract(names)
    }
}

/// libuv's thread pool, which this process uses only for lookups. libuv gives lookups half of its threads.
enum LookupThreads {
    /// libuv's default of four would leave two for lookups: too few to separate clients from operators.
    static let count = 16
    private static let forLookups = count / 2
    /// The rest is reserved for operators.
    static let forClients = forLookups - 2

    /// libuv reads the variable when the pool is first used. It is set once, with the first reactor, because later
    /// other threads may read the environment.
    static let prepared: Void = {
        setenv("UV_THREADPOOL_SIZE", "\(count)", 1)
    }()
}

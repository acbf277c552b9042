import Glibc

/// Who has chosen the host of a target, and so how much its name may cost.
package enum HostChooser: Sendable, Hashable {
    /// Its names are always looked up.
    case operators
    /// One lookup at a time for each of these texts, by which the client is known: its credential, its address.
    case client([String])
}

/// Why a name that a client has chosen isn't looked up; the text is for the log.
enum LookupRefusal: String, Error {
    case clientIsBusy = "a name that this client chose is still being looked up"
    case exhausted = "too many names that clients chose are being looked up"
}

/// The lookups that clients have caused and that hold a thread, or wait for one.
///
/// A name server that doesn't answer holds a thread for as long as the resolver likes, whether or not anybody still waits for the name.
/// So a lookup counts until its thread is free again, and what is over the budget is refused: nothing of clients' ever queues up.
struct LookupBudget {
    private let maximum: Int
    private var count = 0
    private var busy: Set<String> = []

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// - Returns: nil where it may begin: then `end` must follow.
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

/// libuv's thread pool, which this process uses for lookups alone. It gives them half of its threads.
enum LookupThreads {
    /// libuv's own four would make two for lookups: too few to part clients from operators.
    static let count = 16
    private static let forLookups = count / 2
    /// The others are the operators'.
    static let forClients = forLookups - 2

    /// libuv reads it when the pool is first used. Made once, with the first reactor: later, other threads may read the environment.
    static let prepared: Void = {
        setenv("UV_THREADPOOL_SIZE", "\(count)", 1)
    }()
}

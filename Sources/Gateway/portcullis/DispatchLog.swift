import Glibc

/// What libdispatch writes to the system's log by itself.
enum DispatchLog {
    /// -4, as RLIMIT_NICE counts (getrlimit(2)).
    private static let nice: rlim_t = 24

    /// Call it before anything waits.
    ///
    /// For signals and timers libdispatch has a thread that gives itself a nice value of -4. Where the process may not
    /// do that, a line in the system's log says so at each start, and nothing else follows. The unit gives the right
    /// (LimitNICE=); without it the line is left out.
    static func omitRefusedPriority() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(__RLIMIT_NICE.rawValue), &limit)
        guard limit.rlim_cur < nice else { return }
        setenv("LIBDISPATCH_LOG", "NO", 0)
    }
}

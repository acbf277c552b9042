import ArgumentParser
import Glibc

/// The tool's output on standard output and standard error.
enum SimOutput {
    static func say(_ text: String) {
        write(text + "\n", to: STDOUT_FILENO)
    }

    static func show(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    static func failure(_ reason: String, hint: String? = nil) -> ExitCode {
        write("portcullis-sim: error: \(reason)\n", to: STDERR_FILENO)
        if let hint { write("portcullis-sim: hint: \(hint)\n", to: STDERR_FILENO) }
        return .failure
    }

    /// Never returns: SIGTERM and SIGINT end the process.
    static func untilKilled() async {
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            bytes.removeFirst(count)
        }
    }
}

/// Each client of a load or an attack needs one or two files.
enum FileLimit {
    /// Raises the soft limit to the hard one.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
    }
}

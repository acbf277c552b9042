import CLibwebsockets
package import Logging
import Synchronization

/// Brings libwebsockets' log lines to our logger, with bounded length and at most 60 a minute.
///
/// libwebsockets writes peers' data (such as a certificate's name) raw into its lines; the logger's handler escapes
/// them. Only WARN and above: lower levels concern single connections, and a peer could flood the log.
package enum LibwebsocketsLog {
    /// Lines logged in the current minute, and the number suppressed.
    private static let state = Mutex(Window())
    private static let linesPerMinute = 60
    private static let maximumLineBytes = 512

    private struct Window {
        var minute: UInt64 = 0
        var lines = 0
        var suppressed = 0
        var logger: Logger?
    }

    /// Sends libwebsockets' lines to `logger`. Process-wide, because libwebsockets' log is.
    package static func use(_ logger: Logger) {
        state.withLock { $0.logger = logger }
    }

    static func install() {
        lws_set_log_level(Int32(LLL_ERR | LLL_WARN)) { level, line in
            guard let line else { return }
            LibwebsocketsLog.emit(line, isError: level == Int32(LLL_ERR))
        }
    }

    private static func emit(_ line: UnsafePointer<CChar>, isError: Bool) {
        let minute = monotonicMinutes()
        let (logger, suppressed) = state.withLock { window -> (Logger?, Int) in
            if window.minute != minute {
                window.minute = minute
                window.lines = 0
            }
            window.lines += 1
            guard window.lines <= linesPerMinute else {
                window.suppressed += 1
                return (nil, 0)
            }
            defer { window.suppressed = 0 }
            return (window.logger, window.suppressed)
        }
        guard let logger else { return }
        let text = String(
            decoding: UnsafeBufferPointer(start: line, count: 0).extended(to: maximumLineBytes), as: UTF8.self)
        logger.log(
            level: isError ? .warning : .notice, "libwebsockets",
            metadata: ["line": "\(text)", "suppressed": "\(suppressed)"])
    }

    private static func monotonicMinutes() -> UInt64 {
        UInt64(max(lws_now_usecs(), 0)) / 60_000_000
    }
}

extension UnsafeBufferPointer where Element == CChar {
    /// The C string at this address without its line end, at most `limit` bytes.
    fileprivate func extended(to limit: Int) -> [UInt8] {
        guard let start = baseAddress else { return [] }
        var bytes: [UInt8] = []
        while bytes.count < limit, start[bytes.count] != 0, start[bytes.count] != 10 {
            bytes.append(UInt8(bitPattern: start[bytes.count]))
        }
        return bytes
    }
}

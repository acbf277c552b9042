import Relay

/// Decides when the log warns of the server's certificate again: once a day, and when its state changes.
struct CertificateReminder {
    private static let interval: Int64 = 86_400

    private var last: (state: CertificateValidity.State, time: Int64)?

    /// The first call only takes note: loading the settings has warned already.
    ///
    /// - Parameter time: seconds since 1970; a clock that was set back makes a warning due.
    /// - Returns: the warning that is due.
    mutating func due(_ validity: CertificateValidity?, at time: Int64) -> String? {
        guard let validity else {
            last = nil
            return nil
        }
        let state = validity.state(at: time)
        guard let last else {
            last = (state, time)
            return nil
        }
        let isRecent = (0..<Self.interval).contains(time - last.time)
        guard last.state != state || !isRecent else { return nil }
        self.last = (state, time)
        return validity.warning(at: time)
    }
}

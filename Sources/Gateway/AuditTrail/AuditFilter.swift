package import Observability
package import WireText

/// Which lines of an audit log are asked for. Each condition that is set must hold; an empty one always does.
package struct AuditFilter: Sendable {
    package var events: Set<ByteText> = []
    package var outcomes: Set<ByteText> = []
    package var methods: Set<ByteText> = []
    package var reasons: Set<ByteText> = []
    package var who: Set<ByteText> = []
    package var addresses: [AddressRange] = []
    /// Included.
    package var since: Timestamp?
    /// Not included.
    package var until: Timestamp?

    package init() {}

    package func matches(_ record: AuditRecord) -> Bool {
        // The event of a count is `refusals` or `admissions`; what it counts is asked for by either name.
        (events.isEmpty || Self.holds(events, record.event) || Self.holds(events, record[LogKeys.of]))
            && (outcomes.isEmpty || Self.holds(outcomes, record.outcome))
            && (methods.isEmpty || Self.holds(methods, record.method))
            && (reasons.isEmpty || Self.holds(reasons, record.reason))
            && (who.isEmpty || Self.holds(who, record.who)) && isInTime(record.time)
            && (addresses.isEmpty || isAddressed(record.address))
    }

    private static func holds(_ values: Set<ByteText>, _ value: String?) -> Bool {
        value.map { values.contains(ByteText($0)) } ?? false
    }

    private func isInTime(_ time: Timestamp) -> Bool {
        (since.map { $0.unixMilliseconds <= time.unixMilliseconds } ?? true)
            && (until.map { time.unixMilliseconds < $0.unixMilliseconds } ?? true)
    }

    /// A count's address may be an IPv6 /64, which is in a range where its network is.
    private func isAddressed(_ text: String?) -> Bool {
        guard let text, let address = IPAddress(text: String(Substring(text.utf8.prefix { $0 != UInt8(ascii: "/") })))
        else { return false }
        return addresses.contains { $0.contains(address) }
    }
}

import WireText

/// The lists of `TARGET_ALLOWLIST` and `TARGET_PORTS`. Entries are separated by any number of commas, blanks and line
/// ends.
package enum TargetList {
    package static let maximumCount = 10_000

    /// Exact targets, each `host:port`. The port is required; patterns aren't supported.
    package static func targets(_ text: String) throws(TargetFaults) -> [TargetEndpoint] {
        var (targets, faults) = TargetFaults.reading(entries(text)) { entry throws(TargetFault) in
            try TargetEndpoint(entry)
        }
        var seen: Set<TargetEndpoint> = []
        faults += targets.filter { !seen.insert($0).inserted }.map {
            .init(number: nil, fault: .repeatedTarget($0.text))
        }
        if targets.count > maximumCount { faults.append(.init(number: nil, fault: .tooManyTargets)) }
        guard faults.isEmpty else { throw TargetFaults(entries: faults) }
        return targets
    }

    /// Ports and port ranges: `23, 4000-4999`.
    package static func ports(_ text: String) throws(TargetFaults) -> [ClosedRange<UInt16>] {
        let (ports, faults) = TargetFaults.reading(entries(text)) { entry throws(TargetFault) in
            try portRange(entry)
        }
        guard faults.isEmpty else { throw TargetFaults(entries: faults) }
        return ports
    }

    private static func portRange(_ text: Substring) throws(TargetFault) -> ClosedRange<UInt16> {
        let ends = text.splitAtBytes { $0 == UInt8(ascii: "-") }
        guard (1...2).contains(ends.count), let first = try? TargetEndpoint.port(ends[0]),
            let last = try? TargetEndpoint.port(ends[ends.count - 1]), first <= last
        else { throw .portRange }
        return first...last
    }

    private static func entries(_ text: String) -> [Substring] {
        text.splitAtBytes { $0 == UInt8(ascii: ",") || ASCIIByte.isWhiteSpace($0) }.filter { !$0.isEmpty }
    }
}

import FoundationEssentials

extension Double {
    /// Rounded down; the nearest integer that fits where it doesn't.
    var wholeSeconds: Int64 { Int64(exactly: rounded(.down)) ?? (self < 0 ? .min : .max) }
}

extension Date {
    /// Since 1970.
    var wholeSeconds: Int64 { timeIntervalSince1970.wholeSeconds }
}

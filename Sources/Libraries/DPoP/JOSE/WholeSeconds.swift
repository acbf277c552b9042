#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Double {
    /// Rounded down; clamped to the range of the integer.
    var wholeSeconds: Int64 { Int64(exactly: rounded(.down)) ?? (self < 0 ? .min : .max) }
}

extension Date {
    /// Since 1970.
    var wholeSeconds: Int64 { timeIntervalSince1970.wholeSeconds }
}

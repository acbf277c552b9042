/// The two formats that Prometheus reads.
package enum ExpositionFormat: Sendable, CaseIterable {
    /// "Text-based format", version 0.0.4.
    case text
    /// OpenMetrics 1.0.
    case openMetrics

    /// Of an `Accept` field. A longer one is ignored; Prometheus sends some 200 bytes.
    static let maximumBytes = 1_024

    package var contentType: String {
        switch self {
        case .text: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// Chooses by `Accept` (RFC 9110 §12.5.1). A client that wants neither gets the text format: a scrape that fails
    /// says less.
    ///
    /// - Parameter accept: the field's value; nil if there is none.
    package init(accept: String?) {
        var best: (text: Double, openMetrics: Double) = (0, 0)
        let isShort = (accept?.utf8.count ?? 0) <= Self.maximumBytes
        for range in (isShort ? accept ?? "" : "").split(separator: ",") {
            let range = MediaRange(range)
            switch range.type {
            case "application/openmetrics-text" where range.version == nil || range.version == "1.0.0":
                best.openMetrics = max(best.openMetrics, range.quality)
            case "text/plain" where range.version == nil || range.version == "0.0.4", "text/*", "*/*":
                best.text = max(best.text, range.quality)
            default: break
            }
        }
        self = best.openMetrics > 0 && best.openMetrics >= best.text ? .openMetrics : .text
    }
}

/// One member of `Accept`.
private struct MediaRange {
    /// In lower case.
    let type: String
    private(set) var version: String?
    /// 0 to 1; 0 if it is malformed.
    private(set) var quality = 1.0

    init(_ text: Substring) {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false).map { Self.trimmed($0) }
        type = parts.first?.lowercased() ?? ""
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { continue }
            switch Self.trimmed(pair[0]).lowercased() {
            case "version": version = Self.unquoted(Self.trimmed(pair[1]))
            case "q": quality = Self.quality(Self.trimmed(pair[1]))
            default: break
            }
        }
    }

    private static func quality(_ text: Substring) -> Double {
        guard let value = Double(text), (0...1).contains(value) else { return 0 }
        return value
    }

    private static func unquoted(_ text: Substring) -> String {
        guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return String(text) }
        return String(text.dropFirst().dropLast())
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}

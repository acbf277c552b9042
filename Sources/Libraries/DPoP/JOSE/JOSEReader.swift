package import StrictJSON

extension JSONReader {
    /// Reads a JSON object within ``JOSELimits``.
    ///
    /// - Parameter maximumBytes: of the whole text.
    package static func readObject(
        _ text: [UInt8], maximumBytes: Int = JOSELimits.maximumBytes
    ) throws(JSONFault) -> JSONObject {
        let bounds = JSONBounds(
            maximumBytes: maximumBytes, maximumDepth: JOSELimits.maximumDepth,
            maximumValues: JOSELimits.maximumValues, maximumNumberBytes: JOSELimits.maximumNumberBytes)
        do { return try readObject(text, within: bounds) } catch { throw JSONFault(error) }
    }
}

extension JSONFault {
    init(_ defect: JSONDefect) {
        self =
            switch defect {
            case .unexpectedEnd: .unexpectedEnd
            case .unexpectedByte(let offset): .unexpectedByte(at: offset)
            case .malformedString(let offset): .malformedString(at: offset)
            case .malformedNumber(let offset): .malformedNumber(at: offset)
            case .tooLong: .tooLong
            case .tooDeep: .tooDeep
            case .tooManyValues: .tooManyValues
            case .duplicateMember(let offset): .duplicateMember(at: offset)
            case .notAnObject: .notAnObject
            }
    }
}

extension JSONValue {
    /// Seconds since 1970, perhaps with a fraction (RFC 7519 section 2).
    var numericDate: Double? {
        let seconds: Double? =
            switch self {
            case .integer(let seconds): Double(seconds)
            case .number(let text): Double(text)
            default: nil
            }
        return seconds.flatMap { abs($0) <= JOSELimits.maximumNumericDate ? $0 : nil }
    }
}

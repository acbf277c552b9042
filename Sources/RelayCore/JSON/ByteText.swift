extension [UInt8] {
    mutating func append(_ text: String) {
        append(contentsOf: text.utf8)
    }

    mutating func append(decimal value: some FixedWidthInteger) {
        append(contentsOf: String(value).utf8)
    }
}

extension ArraySlice<UInt8> {
    /// nil at the end of the slice.
    func byte(at position: Int) -> UInt8? {
        position < endIndex ? self[position] : nil
    }
}

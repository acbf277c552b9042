/// Header values whose case doesn't matter.
enum ASCIIText {
    /// `nil` for text beyond ASCII: some of its characters have a lower case within (U+212A, the Kelvin sign, is `k`), and would pass
    /// for it.
    static func lowercased(_ text: String) -> String? {
        text.utf8.allSatisfy { $0 < 0x80 } ? text.lowercased() : nil
    }
}

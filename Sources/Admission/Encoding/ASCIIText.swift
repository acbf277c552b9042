/// Header values whose case doesn't matter.
enum ASCIIText {
    /// `nil` for text that isn't ASCII: some other characters have an ASCII lower case (U+212A, the Kelvin sign, becomes `k`) and would be
    /// accepted in its place.
    static func lowercased(_ text: String) -> String? {
        text.utf8.allSatisfy { $0 < 0x80 } ? text.lowercased() : nil
    }
}

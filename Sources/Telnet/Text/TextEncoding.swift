/// How a target writes text. Every one of them has ASCII in its lower half.
package enum TextEncoding: String, Hashable, Sendable, CaseIterable {
    /// UTF-8; bytes that aren't valid UTF-8 are read as Latin-1.
    case utf8
    case latin1
    /// Bytes above 127 are unknown characters.
    case ascii
    case windows1252
    case cp437
    case latin2
    case latin9
    case windows1251
    case koi8r
}

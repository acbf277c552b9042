import Testing

/// A place where text of a peer, of an operator or of another process is read.
struct HostilePlace: Sendable, CustomTestStringConvertible {
    let name: String
    /// The largest text that the carrier lets in: more would be refused for its length.
    let bytes: Int
    let spellings: [Spelling]
    let texts: [HostileText]
    /// Makes what has to be there first. What it returns is measured.
    let prepare: @Sendable ([UInt8]) throws -> () -> Void

    var testDescription: String { name }

    static let all =
        wirePlaces + jwtPlaces + attestPlaces + passkeyPlaces + accountPlaces + gatePlaces + dialectPlaces
        + telnetPlaces
        + connectionPlaces
        + settingPlaces + recordPlaces
}

/// A place whose input is made of the text before it is measured.
func made(
    _ name: String, bytes: Int = 65_536, spelled spellings: [Spelling] = [.plain],
    texts: [HostileText] = HostileText.all, _ prepare: @escaping @Sendable ([UInt8]) throws -> () -> Void
) -> HostilePlace {
    HostilePlace(name: name, bytes: bytes, spellings: spellings, texts: texts, prepare: prepare)
}

/// The same for text: invalid UTF-8 was repaired or refused before.
func prepared(
    _ name: String, bytes: Int = 65_536, spelled spellings: [Spelling] = [.plain],
    _ prepare: @escaping @Sendable (String) throws -> () -> Void
) -> HostilePlace {
    made(name, bytes: bytes, spelled: spellings) { try prepare(String(decoding: $0, as: UTF8.self)) }
}

/// A place that takes bytes.
func bytes(
    _ name: String, bytes: Int = 65_536, spelled spellings: [Spelling] = [.plain],
    texts: [HostileText] = HostileText.all, _ read: @escaping @Sendable ([UInt8]) -> Void
) -> HostilePlace {
    made(name, bytes: bytes, spelled: spellings, texts: texts) { bytes in { read(bytes) } }
}

/// A place that takes text.
func text(
    _ name: String, bytes: Int = 65_536, spelled spellings: [Spelling] = [.plain],
    texts: [HostileText] = HostileText.all, _ read: @escaping @Sendable (String) -> Void
) -> HostilePlace {
    made(name, bytes: bytes, spelled: spellings, texts: texts) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        return { read(text) }
    }
}

/// A place that takes JSON, in which the text stands once as it is and once as escapes.
///
/// - Parameters:
///   - bytes: of the text. With the rest of the message it is at most 64 KiB, which most carriers let in.
///   - message: with `$` for the text.
func json(
    _ name: String, bytes: Int = 64_512, texts: [HostileText] = HostileText.all, in message: String,
    _ read: @escaping @Sendable ([UInt8]) -> Void
) -> HostilePlace {
    let gaps = max(1, message.utf8.count { $0 == UInt8(ascii: "$") })
    return made(name, bytes: bytes, spelled: [.json, .jsonEscapes], texts: texts) { text in
        let whole = filled(message, with: gaps == 1 ? text : Array(wholeCharacters(text.prefix(text.count / gaps))))
        return { read(whole) }
    }
}

/// The template with the text in place of each `$`.
func filled(_ template: String, with text: [UInt8]) -> [UInt8] {
    let parts = template.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false)
    return Array(parts.map { Array($0) }.joined(separator: text))
}

/// `{"NAME0":0,"NAME1":0,…}`
func objectOfMembers(named name: [UInt8], _ count: Int, front: String = "") -> [UInt8] {
    var object = Array("{\(front)".utf8)
    for index in 0..<count {
        if object.count > 1 { object.append(UInt8(ascii: ",")) }
        object.append(UInt8(ascii: "\""))
        object += name
        object += Array("\(index)\":0".utf8)
    }
    return object + [UInt8(ascii: "}")]
}

/// Without an escape or a character that is cut: text that isn't UTF-8 is refused at once, and costs next to nothing.
func wholeCharacters(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    if let escape = text.suffix(12).firstIndex(of: UInt8(ascii: "\\")) { return text[..<escape] }
    guard let lead = text.suffix(3).lastIndex(where: { $0 >= 0xC0 }) else { return text }
    let length = text[lead] >= 0xF0 ? 4 : text[lead] >= 0xE0 ? 3 : 2
    return text.endIndex - lead < length ? text[..<lead] : text
}

/// Uses a value, so that an optimised build computes it.
@inline(never)
func use<Value>(_ value: Value) {}

/// Lists places, each of which is type-checked alone.
func places(@PlaceBuilder _ list: () -> [HostilePlace]) -> [HostilePlace] { list() }

@resultBuilder
enum PlaceBuilder {
    static func buildExpression(_ place: HostilePlace) -> [HostilePlace] { [place] }
    static func buildExpression(_ places: [HostilePlace]) -> [HostilePlace] { places }
    static func buildBlock(_ places: [HostilePlace]...) -> [HostilePlace] { places.flatMap(\.self) }
}

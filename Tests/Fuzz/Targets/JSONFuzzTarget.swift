import RelayCore
import StrictJSON
import WireText

/// JSON from clients, inside GMCP from MUDs, and in all that is signed.
let jsonFuzzTarget = FuzzTarget("json") { bytes in
    let value = try? JSONReader.read(bytes[...])
    try require(JSONReader.isValid(bytes[...]) == (value != nil), "what is valid can be read, and nothing else")
    var tokenizer = JSONTokenizer(bytes[...], within: .message)
    while let token = try? tokenizer.next() {
        try require(tokenizer.depth <= JSONReader.maximumDepth, "depth is bounded")
        if case .number(let range) = token {
            try require(Double(text(bytes[range])) != nil, "a number is one")
        }
    }
    if let strict = try? JSONReader.read(bytes[...], within: strictBounds) {
        try require(strict == value, "narrower bounds don't change what is read")
    }
    guard let value else { return }
    var written: [UInt8] = []
    JSONWriter.append(value, to: &written)
    try require(isUTF8(written), "what is written is UTF-8")
    try require(try JSONReader.read(written[...]) == value, "what is written reads as the same value")
}

private let strictBounds = JSONBounds(maximumBytes: 8_192, maximumDepth: 8, maximumValues: 128, maximumNumberBytes: 32)

@testable import StateCoding

/// A state that another process has written: what is read is written as the same bytes.
let stateFuzzTarget = FuzzTarget("state") { bytes in
    guard let value = try? StateReader.read(bytes) else { return }
    try require(StateWriter.write(value) == bytes, "each value has one form")
    _ = try? StateDecoder.decode([String: [UInt8]].self, from: bytes)
    _ = try? StateDecoder.decode([Int8].self, from: bytes)
}

/// One parser of untrusted bytes, with the properties that must hold for all inputs.
///
/// The same functions run under libFuzzer, which looks for inputs, and in a test, which replays the inputs that are
/// kept in `Corpus`.
struct FuzzTarget: Sendable {
    /// Also its folder's below `Corpus`.
    let name: String
    let check: Check

    enum Check: Sendable {
        case immediate(@Sendable ([UInt8]) throws -> Void)
        /// For what only an asynchronous interface reaches.
        case awaiting(@Sendable ([UInt8]) async throws -> Void)
    }

    init(_ name: String, _ check: @escaping @Sendable ([UInt8]) throws -> Void) {
        self.name = name
        self.check = .immediate(check)
    }

    init(_ name: String, awaiting check: @escaping @Sendable ([UInt8]) async throws -> Void) {
        self.name = name
        self.check = .awaiting(check)
    }

    static let all =
        attestFuzzTargets + dpopFuzzTargets + gateFuzzTargets + edgeFuzzTargets + telnetFuzzTargets + clientFuzzTargets
        + httpFuzzTargets + [translationFuzzTarget, jsonFuzzTarget, stateFuzzTarget] + settingFuzzTargets
        + webSocketFuzzTargets + metricsFuzzTargets + [auditFuzzTarget] + maintenanceFuzzTargets
        + fleetFuzzTargets + passkeyFuzzTargets + accountFuzzTargets + libraryFuzzTargets
}

/// A property that was violated.
struct FuzzViolation: Error, CustomStringConvertible {
    let description: String
}

/// - Parameter what: says what must hold.
func require(_ condition: @autoclosure () throws -> Bool, _ what: @autoclosure () -> String) throws {
    guard try condition() else { throw FuzzViolation(description: what()) }
}

/// `bytes` cut into pieces of `count`, the last one shorter.
func pieces(of bytes: ArraySlice<UInt8>, _ count: Int) -> [ArraySlice<UInt8>] {
    stride(from: bytes.startIndex, to: bytes.endIndex, by: count).map { bytes[$0..<min($0 + count, bytes.endIndex)] }
}

func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

/// The standard library's judgement, which is independent of ours.
func isUTF8(_ bytes: some Sequence<UInt8>) -> Bool { String(validating: bytes, as: UTF8.self) != nil }

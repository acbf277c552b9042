/// The four-byte characters of GB 18030: all characters that had no shorter form in the edition of 2000, in Unicode
/// order, followed by the other planes.
///
/// Later editions assigned some two-byte codes to characters that already had four bytes; their four-byte codes remain.
/// The private-use characters that held those two-byte codes have no code now, except U+E7C7.
struct GB18030Ranges: Sendable {
    /// A run of consecutive scalars, starting at a pointer.
    private struct Run {
        let pointer: Int
        let scalar: UInt32
    }

    private let runs: [Run]
    private let end: Int

    private static let firstFarPointer = 189_000
    private static let lastFarPointer = 1_237_575
    /// It swapped places with U+1E3F.
    private static let exchanged = (pointer: 7_457, scalar: UInt32(0xE7C7))

    /// - Parameter hasPair: whether a scalar of the basic plane is written with two bytes.
    init(hasPair: (UInt32) -> Bool) {
        var runs: [Run] = []
        var pointer = 0
        var isInRun = false
        for scalar in UInt32(0x80)...0xFFFF {
            let hasPlace =
                !(0xD800...0xDFFF).contains(scalar) && !Self.isReplaced(scalar)
                && (Self.replaces(scalar) || !hasPair(scalar))
            if hasPlace {
                if !isInRun { runs.append(Run(pointer: pointer, scalar: scalar)) }
                pointer += 1
            }
            isInRun = hasPlace
        }
        (self.runs, end) = (runs, pointer)
    }

    /// A private character that had two bytes in 2000 and has none now; U+E5E5 is a full-width space.
    private static func isReplaced(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0xE5E5, 0xE78D...0xE796, 0xE7C7, 0xE816...0xE818, 0xE81E, 0xE826, 0xE82B, 0xE82C, 0xE831, 0xE832, 0xE83B,
            0xE843, 0xE854, 0xE855, 0xE864:
            true
        default: false
        }
    }

    /// A character that had four bytes in 2000 and has two now.
    private static func replaces(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x1E3F, 0x9FB4...0x9FBB, 0xFE10...0xFE19: true
        default: false
        }
    }

    func scalar(at pointer: Int) -> UInt32? {
        if pointer == Self.exchanged.pointer { return Self.exchanged.scalar }
        if (Self.firstFarPointer...Self.lastFarPointer).contains(pointer) {
            return UInt32(0x1_0000 + pointer - Self.firstFarPointer)
        }
        guard pointer < end, let run = last({ $0.pointer <= pointer }) else { return nil }
        return run.scalar + UInt32(pointer - run.pointer)
    }

    /// The pointer of a scalar without a pair; nil if it has none.
    func pointer(for scalar: UInt32) -> Int? {
        if scalar == Self.exchanged.scalar { return Self.exchanged.pointer }
        if scalar > 0xFFFF { return Self.firstFarPointer + Int(scalar) - 0x1_0000 }
        guard !Self.isReplaced(scalar) else { return nil }
        return last { $0.scalar <= scalar }.map { $0.pointer + Int(scalar - $0.scalar) }
    }

    /// The last of the sorted runs for which `isBefore` is true.
    private func last(_ isBefore: (Run) -> Bool) -> Run? {
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(runs[middle]) { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? runs[low - 1] : nil
    }
}

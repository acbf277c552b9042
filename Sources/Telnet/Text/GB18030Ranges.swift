/// The characters of four bytes in GB 18030: all that had no shorter form in the edition of 2000, in the order of Unicode, and then the
/// other planes.
///
/// Since then some places of two bytes have been given to characters that already had four bytes, which still stand there. The private ones that
/// they had before have no place any more, but for U+E7C7.
struct GB18030Ranges: Sendable {
    /// A run of scalars that follow each other, from a pointer on.
    private struct Run {
        let pointer: Int
        let scalar: UInt32
    }

    private let runs: [Run]
    private let end: Int

    private static let firstFarPointer = 189_000
    private static let lastFarPointer = 1_237_575
    /// It has changed places with U+1E3F.
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

    /// For a scalar without a pair; nil where it has no place.
    func pointer(for scalar: UInt32) -> Int? {
        if scalar == Self.exchanged.scalar { return Self.exchanged.pointer }
        if scalar > 0xFFFF { return Self.firstFarPointer + Int(scalar) - 0x1_0000 }
        guard !Self.isReplaced(scalar) else { return nil }
        return last { $0.scalar <= scalar }.map { $0.pointer + Int(scalar - $0.scalar) }
    }

    /// The last of the runs, which are sorted, of which it is true.
    private func last(_ isBefore: (Run) -> Bool) -> Run? {
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(runs[middle]) { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? runs[low - 1] : nil
    }
}

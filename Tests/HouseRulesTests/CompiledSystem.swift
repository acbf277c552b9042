/// A kind of system, as far as the sources ask for it: `#if canImport(Darwin)` and
/// `#if canImport(FoundationEssentials)`.
enum CompiledSystem {
    case linux, apple

    /// Whether a module exists here; nil: the rules don't know.
    func has(_ module: String) -> Bool? {
        switch module {
        case "Darwin": self == .apple
        case "FoundationEssentials": self == .linux
        default: nil
        }
    }
}

extension SwiftText {
    /// The tokens that are compiled on a system. Of a condition that isn't ``CompiledSystem``'s, all branches are kept.
    func tokens(on system: CompiledSystem) -> [Token] {
        var kept: [Token] = []
        // For each open `#if`: whether its present branch is compiled, and whether that is known.
        var open: [(isCompiled: Bool, isKnown: Bool)] = []
        var index = 0
        while index < tokens.count {
            let rest = tokens[index...].prefix(7).map(\.text)
            if rest.starts(with: ["#", "if"]) {
                let answer = Self.answer(Array(rest.dropFirst(2)), on: system)
                open.append((answer ?? true, answer != nil))
                index += 2
            } else if rest.starts(with: ["#", "else"]) || rest.starts(with: ["#", "elseif"]), let last = open.popLast()
            {
                open.append((last.isKnown ? !last.isCompiled : true, last.isKnown))
                index += 2
            } else if rest.starts(with: ["#", "endif"]) {
                _ = open.popLast()
                index += 2
            } else {
                if open.allSatisfy(\.isCompiled) { kept.append(tokens[index]) }
                index += 1
            }
        }
        return kept
    }

    /// - Parameter condition: the tokens after `#if`.
    private static func answer(_ condition: [String], on system: CompiledSystem) -> Bool? {
        if condition.first == "!" { return answer(Array(condition.dropFirst()), on: system).map { !$0 } }
        guard condition.count >= 4, condition[0] == "canImport", condition[1] == "(", condition[3] == ")" else {
            return nil
        }
        return system.has(condition[2])
    }
}

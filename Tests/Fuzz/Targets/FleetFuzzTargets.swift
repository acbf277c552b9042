@testable import FleetWire

/// What gateways of a fleet tell each other, and what they pass on.
let fleetFuzzTargets = [
    FuzzTarget("relay-preface") { bytes in
        var parser = RelayPrefaceParser()
        let whole = parser.parse(bytes[...])
        var cut = RelayPrefaceParser()
        var last = RelayPrefaceProgress.needsMore
        var consumed = 0
        for index in bytes.indices where last == .needsMore {
            last = cut.parse(bytes[index...index])
            consumed = index + 1
        }
        guard case .complete(let preface, let count) = whole else {
            return try require(last == whole, "byte by byte the same is refused")
        }
        try require(
            last == .complete(preface, consumedBytes: 1) && consumed == count
                && count <= RelayPrefaceForm.headerBytes + RelayPrefaceLimits.maximumBytes,
            "byte by byte the same is read")
        guard let written = preface.encoded() else { throw FuzzViolation(description: "what was read can be written") }
        var again = RelayPrefaceParser()
        try require(
            again.parse(written[...]) == .complete(preface, consumedBytes: written.count),
            "a preface written is the same preface")
    },
    FuzzTarget("relayed-answer") { bytes in
        var whole = RelayedAnswer()
        let released = try? whole.take(bytes)
        var cut = RelayedAnswer()
        var pieces: [UInt8] = []
        var hasFailed = false
        for byte in bytes where !hasFailed {
            guard let more = try? cut.take([byte]) else {
                hasFailed = true
                continue
            }
            pieces += more
        }
        try require((released == nil) == hasFailed, "byte by byte the same is refused")
        if let released {
            try require(bytes.suffix(pieces.count).elementsEqual(pieces), "nothing is changed")
            try require(released == pieces, "byte by byte the same is released")
            try require(
                whole.status == cut.status && whole.refusalCode == cut.refusalCode
                    && whole.isSessionUnknown == cut.isSessionUnknown, "and the same is known")
        }
        try require(
            cut.heldBytes <= RelayedAnswer.maximumHeadBytes + 1, "what is held is bounded")
    },
    FuzzTarget("relayed-messages") { bytes in
        var whole = RelayedMessages()
        let events = whole.take(bytes)
        var cut = RelayedMessages()
        try require(bytes.flatMap { cut.take([$0]) } == events, "byte by byte the same is read")
        let end = events.firstIndex { event in
            switch event {
            case .close, .malformed: true
            case .message, .ping: false
            }
        }
        try require(end == nil || end == events.count - 1, "nothing follows the end")
    },
]

@testable import GatewayServer
@testable import OperatorTools
@testable import Settings

/// What the operator's tools read: the kernel's tables, and audit logs.
let maintenanceFuzzTargets = [
    FuzzTarget("kernel-sockets") { bytes in
        func listening(_ pieces: [ArraySlice<UInt8>]) -> KernelSocketTable {
            var table = KernelSocketTable()
            for piece in pieces { table.feed(piece) }
            table.finish()
            return table
        }
        let whole = listening([bytes[...]]).listening
        try require(whole.count <= bytes.count { $0 == UInt8(ascii: "\n") } + 1, "a line has one socket at most")
        for size in [1, 7, 64] {
            try require(listening(pieces(of: bytes[...], size)).listening == whole, "pieces read as the whole")
        }
    },
    FuzzTarget("line-search") { bytes in
        func matches(_ pieces: [ArraySlice<UInt8>]) -> [LineSearch.Match] {
            var search = LineSearch(words: ["key", "aab"])
            return pieces.flatMap { search.feed($0) } + [search.finish()].compactMap { $0 }
        }
        let whole = matches([bytes[...]])
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        try require(
            whole.allSatisfy { $0.number <= lines.count && lines[$0.number - 1].elementsEqual($0.bytes) },
            "a match is a line of the text")
        let words = ["key", "aab"].map { Array($0.utf8) }
        let expected = lines.count { line in
            line.count <= LineSearch.maximumLineBytes
                && line.indices.contains { start in words.contains { line[start...].starts(with: $0) } }
        }
        try require(whole.count == expected, "each line with a word is found")
        for size in [1, 5] { try require(matches(pieces(of: bytes[...], size)) == whole, "pieces read as the whole") }
    },
]

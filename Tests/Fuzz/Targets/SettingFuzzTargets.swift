@testable import GatewayServer
@testable import RelayCore
@testable import Settings

/// Operators' files, and their tools' messages over the control socket.
let settingFuzzTargets = [
    FuzzTarget("setting-file") { bytes in
        let text = text(bytes)
        let file = SettingFile(text)
        let names = file.entries.map(\.name)
        try require(Set(names).count == names.count, "no name is set twice")
        let lines = 1...(bytes.count { $0 == UInt8(ascii: "\n") } + 1)
        try require(
            file.entries.allSatisfy { lines.contains($0.line) } && file.faults.allSatisfy { lines.contains($0.line) },
            "lines are counted")
        // A combining mark behind a quotation mark is one character with it.
        let quotable = file.entries.filter { !$0.value.contains("'") && "'\($0.value)'".count == $0.value.count + 2 }
        let written = SettingFile(quotable.map { "export \($0.name)='\($0.value)'" }.joined(separator: "\r\n"))
        try require(written.faults.isEmpty, "what was read can be written")
        try require(
            written.entries.map(\.name) == quotable.map(\.name)
                && written.entries.map(\.value) == quotable.map(\.value),
            "and reads as the same")
    },
    FuzzTarget("setting-values") { bytes in
        let text = text(bytes)
        _ = try? SettingGrammar.requiredPath(text)
        _ = try? SettingGrammar.pins(text)
        _ = try? SettingGrammar.addressRanges(text)
        _ = try? SettingGrammar.webOrigin(text)
        if let number = try? SettingGrammar.integer(text, in: 1...65_535) {
            try require((1...65_535).contains(number), "a number is in its range")
        }
        if let origins = try? SettingGrammar.origins(text) {
            try require(origins.allSatisfy { $0 == $0.lowercased() }, "origins are in lower case")
        }
        if let host = try? SettingGrammar.host(text) {
            try require(try SettingGrammar.host(host.text) == host, "a host has one form")
        }
    },
    FuzzTarget("target") { bytes in
        let text = text(bytes)
        if let host = TargetHost(text) {
            try require(TargetHost(host.text) == host && host.text.utf8.count <= 253, "a host has one form")
        }
        if let endpoint = try? TargetEndpoint(text) {
            try require(try TargetEndpoint(endpoint.text) == endpoint && endpoint.port > 0, "a target has one form")
        }
        if let routes = try? Route.list(text, methods: ["app", "cert"], isKnownEncoding: { $0 == "latin1" }) {
            try require(
                Set(routes.map(\.name)).count == routes.count && routes.count <= Route.maximumCount,
                "no route is there twice")
        }
        if let targets = try? TargetList.targets(text) {
            let written = targets.map(\.text).joined(separator: " ")
            try require(try TargetList.targets(written) == targets, "targets written are the same targets")
        }
        _ = try? TargetList.ports(text)
    },
    FuzzTarget("control") { bytes in
        guard let request = ControlLine.decode(ControlRequest.self, bytes) else { return }
        let line = ControlLine.encode(request)
        try require(line.count { $0 == UInt8(ascii: "\n") } == 1, "a request is one line")
        try require(
            ControlLine.decode(ControlRequest.self, line.dropLast()) == request, "a request written is the same request"
        )
    },
]

import Foundation
import Logging
import Observability
import Testing

@Suite struct LogHandlerTests {
    private struct Mishap: Error, CustomStringConvertible {
        var description: String { hostileText }
    }

    private func jsonLogger(_ probe: OutputProbe) -> Logger {
        Logger(label: "test") { JSONLogHandler(label: $0, level: .info, output: probe.output) }
    }

    private func textLogger(_ probe: OutputProbe) -> Logger {
        Logger(label: "test") { TextLogHandler(label: $0, level: .info, output: probe.output) }
    }

    @Test func `an event is one JSON object on one line`() throws {
        let probe = try OutputProbe()
        jsonLogger(probe).warning("Refused.", metadata: [LogKeys.address: "192.0.2.1", LogKeys.reason: "unknown_key"])
        let object = try #require(try probe.onlyObject())
        #expect(object["level"] == "warning")
        #expect(object["logger"] == "test")
        #expect(object["message"] == "Refused.")
        #expect(object["address"] == "192.0.2.1")
        #expect(object["reason"] == "unknown_key")
        #expect(object["time"]?.count == "2026-07-01T09:05:03.042Z".count)
    }

    @Test func `hostile text is escaped in the output of every handler`() throws {
        for make in [jsonLogger, textLogger] {
            let probe = try OutputProbe()
            make(probe).log(
                level: .error, "\(hostileText)", error: Mishap(),
                metadata: [hostileText: "\(hostileText)", "list": ["\(hostileText)", ["deep": "\(hostileText)"]]])
            #expect(probe.lines.count == 2)
            #expect(probe.lines.last == "")
            #expect(holdsNothingForbidden(probe.lines[0]))
        }
    }

    @Test func `a JSON reader gets the original text back`() throws {
        let probe = try OutputProbe()
        jsonLogger(probe).error("m", metadata: ["field": "\(hostileText)"])
        #expect(try probe.onlyObject()?["field"] == hostileText)
    }

    @Test func `invalid UTF-8 is replaced before it is written`() throws {
        for make in [jsonLogger, textLogger] {
            let probe = try OutputProbe()
            make(probe).error("m", metadata: ["field": "\(EscapedText(bytes: [0x61, 0xFF, 0xC3]))"])
            #expect(String(validating: probe.bytes, as: UTF8.self) != nil)
        }
    }

    @Test func `a field can't use the name of one of the event's own fields`() throws {
        let probe = try OutputProbe()
        jsonLogger(probe).error("real", metadata: ["message": "forged", "_message": "again", "level": "trace"])
        let object = try #require(try probe.onlyObject())
        #expect(object["message"] == "real")
        #expect(object["level"] == "error")
        #expect(Set(object.values).isSuperset(of: ["forged", "again", "trace"]))
    }

    @Test func `fields of the event override those of the logger`() throws {
        let probe = try OutputProbe()
        var logger = jsonLogger(probe)
        logger[metadataKey: "a"] = "logger"
        logger[metadataKey: "b"] = "logger"
        logger.info("m", metadata: ["a": "event"])
        let object = try #require(try probe.onlyObject())
        #expect(object["a"] == "event")
        #expect(object["b"] == "logger")
    }

    @Test func `the fields in a line of text are unambiguous`() throws {
        let probe = try OutputProbe()
        textLogger(probe).notice(
            "Hello.", metadata: ["a": "plain", "b": "x outcome=admitted", "c": "", "d": "say \"hi\""])
        #expect(
            probe.lines[0].hasSuffix(
                "NOTICE   test: Hello. a=plain b=\"x outcome=admitted\" c=\"\" d=\"say \\\"hi\\\"\""))
    }

    @Test func `an event below the level isn't written`() throws {
        let probe = try OutputProbe()
        textLogger(probe).debug("quiet")
        #expect(probe.bytes.isEmpty)
    }

    @Test func `a line has a maximum length and is still valid`() throws {
        let long = String(repeating: "\u{1B}", count: 100_000)
        var metadata: Logger.Metadata = [:]
        for index in 0..<200 { metadata["field\(index)"] = "\(long)" }
        for make in [jsonLogger, textLogger] {
            let probe = try OutputProbe()
            make(probe).error("\(long)", metadata: metadata)
            #expect(probe.bytes.count <= 16_384 + 64)
            #expect(probe.lines.count == 2)
        }
        let probe = try OutputProbe()
        jsonLogger(probe).error("m", metadata: metadata)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(probe.lines[0].utf8)) as? [String: Any])
        #expect(object["truncated"] as? Bool == true)
    }

    @Test func `deeply nested metadata is flattened to a limit and then printed`() throws {
        var value: Logger.Metadata.Value = "bottom"
        for _ in 0..<1000 { value = .dictionary(["k": value]) }
        let probe = try OutputProbe()
        jsonLogger(probe).error("m", metadata: ["top": value])
        let object = try #require(try probe.onlyObject())
        #expect(object["top.k.k.k.k"] != nil)
    }

    @Test func `lines from many threads stay whole`() async throws {
        let probe = try OutputProbe()
        let logger = jsonLogger(probe)
        let text = String(repeating: "x", count: 900)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for index in 0..<100 { logger.info("m", metadata: ["id": "\(task)-\(index)", "text": "\(text)"]) }
                }
            }
        }
        let ids = try probe.lines.dropLast().map { line in
            try JSONDecoder().decode([String: String].self, from: Data(line.utf8))["id"]
        }
        #expect(Set(ids).count == 800)
        #expect(ids.count == 800)
    }
}

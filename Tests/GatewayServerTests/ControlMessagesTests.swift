import Settings
import Testing

@testable import GatewayServer

struct ControlMessagesTests {
    @Test func `a reload's answer arrives as it was sent`() throws {
        let line = ReloadDifference.Line(setting: "WS_PORT", change: "1 -> 2\nor so")
        let answers: [ControlAnswer] = [
            .reloaded(changed: [line], needingRestart: []), .notReloaded(errors: ["a", "b"]),
        ]
        for answer in answers {
            let bytes = ControlLine.encode(answer)
            #expect(bytes.filter { $0 == UInt8(ascii: "\n") }.count == 1)
            #expect(ControlLine.decode(ControlAnswer.self, bytes) == answer)
        }
        #expect(ControlLine.decode(ControlRequest.self, ControlLine.encode(ControlRequest.reload)) == .reload)
    }
}

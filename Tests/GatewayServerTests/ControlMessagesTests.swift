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

    @Test func `a request about an account arrives as it was sent, and is never one for another ticket`() {
        let requests: [ControlRequest] = [
            .accountTicket(seconds: 60, account: "a\nb"), .hasNoticedEnd(ofAccount: "00"),
        ]
        for request in requests {
            #expect(ControlLine.decode(ControlRequest.self, ControlLine.encode(request)) == request)
        }
        #expect(requests[0] != .ticket(seconds: 60, uses: 1))
    }
}

import Testing

@testable import Telnet

/// The tables of RFC 1143, section 7, line by line.
@Suite struct OptionStateTests {
    struct Row: Sendable, CustomStringConvertible {
        let from: OptionState
        let to: OptionState
        let sends: OptionState.Word?
        var description: String { "\(from) → \(to)" }

        init(_ from: OptionState, _ to: OptionState, sends: OptionState.Word? = nil) {
            (self.from, self.to, self.sends) = (from, to, sends)
        }
    }

    private func check(_ row: Row, _ body: (inout OptionState) -> OptionState.Word?) {
        var state = row.from
        #expect(body(&state) == row.sends)
        #expect(state == row.to)
    }

    @Test(arguments: [
        Row(.off, .on, sends: .yes),
        Row(.on, .on),
        Row(.turningOff(thenOn: false), .off),
        Row(.turningOff(thenOn: true), .on),
        Row(.turningOn(thenOff: false), .on),
        Row(.turningOn(thenOff: true), .turningOff(thenOn: false), sends: .no),
    ])
    func `upon receipt of WILL or DO`(row: Row) {
        check(row) { $0.receivedYes(accepts: true) }
    }

    @Test(arguments: [
        Row(.off, .off, sends: .no),
        Row(.on, .on),
        Row(.turningOff(thenOn: false), .off),
        Row(.turningOff(thenOn: true), .on),
        Row(.turningOn(thenOff: false), .on),
        Row(.turningOn(thenOff: true), .turningOff(thenOn: false), sends: .no),
    ])
    func `upon receipt of WILL or DO where a new request is not accepted`(row: Row) {
        check(row) { $0.receivedYes(accepts: false) }
    }

    @Test(arguments: [
        Row(.off, .off),
        Row(.on, .off, sends: .no),
        Row(.turningOff(thenOn: false), .off),
        Row(.turningOff(thenOn: true), .turningOn(thenOff: false), sends: .yes),
        Row(.turningOn(thenOff: false), .off),
        Row(.turningOn(thenOff: true), .off),
    ])
    func `upon receipt of WONT or DONT`(row: Row) {
        check(row) { $0.receivedNo() }
    }

    @Test(arguments: [
        Row(.off, .turningOn(thenOff: false), sends: .yes),
        Row(.on, .on),
        Row(.turningOff(thenOn: false), .turningOff(thenOn: true)),
        Row(.turningOff(thenOn: true), .turningOff(thenOn: true)),
        Row(.turningOn(thenOff: false), .turningOn(thenOff: false)),
        Row(.turningOn(thenOff: true), .turningOn(thenOff: false)),
    ])
    func `if we decide to ask for it`(row: Row) {
        check(row) { $0.turnOn() }
    }

    @Test(arguments: [
        Row(.off, .off),
        Row(.on, .turningOff(thenOn: false), sends: .no),
        Row(.turningOff(thenOn: false), .turningOff(thenOn: false)),
        Row(.turningOff(thenOn: true), .turningOff(thenOn: false)),
        Row(.turningOn(thenOff: false), .turningOn(thenOff: true)),
        Row(.turningOn(thenOff: true), .turningOn(thenOff: true)),
    ])
    func `if we decide to end it`(row: Row) {
        check(row) { $0.turnOff() }
    }
}

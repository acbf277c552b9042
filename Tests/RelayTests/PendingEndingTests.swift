import Testing

@testable import Relay

/// Unregistrations of signed requests wait until sessions are closed, in places of their own.
struct PendingEndingTests {
    @Test func `64 unregistrations wait at once, and one more is refused until one of them is done`() {
        let ending = PendingRegistrations.makeEnding(PendingRegistrations.make())
        for place in 1...64 { #expect(ending.begin(), "place \(place)") }
        #expect(!ending.begin() && ending.current == 64)
        ending.end()
        #expect(ending.begin() && !ending.begin())
    }

    @Test func `unregistrations that wait take no place of registrations, and those none of theirs`() {
        let registrations = PendingRegistrations.make()
        let ending = PendingRegistrations.makeEnding(registrations)
        while ending.begin() {}
        #expect(ending.current == PendingRegistrations.maximumEnding && registrations.current == 0)
        while registrations.begin() {}
        #expect(registrations.current == PendingRegistrations.maximum)
        #expect(ending.current == PendingRegistrations.maximumEnding)
    }
}
